import t from "tap";
import { startHub } from "../../../support/hub/harness.ts";
import { publishFiles } from "../../../support/hub/shown-hub.ts";
import { startStaging } from "../../../support/hub/staging.ts";
import { Visitor } from "../../../support/hub/web.ts";

/** React puts comments between texts. */
const plain = (html: string): string => html.replaceAll("<!-- -->", "");

const filesOf = (version: string, network: string) => ({
  "plugin.yaml": `name: tide\nversion: ${version}\nentry_point: i.js\nexecution_mode: sandboxed\nnetwork: ${network}\n`,
  "i.js": `"${version}";`,
});

t.test("a version is compared, approved and rejected on the page, without a script", async (t) => {
  const { hub, plugin, stager, approver, newKey } = await startStaging(t, { rateLimits: false });
  const [admin, person] = [new Visitor(hub.url), new Visitor(hub.url)];
  await admin.signIn(hub.adminKey);
  await person.signIn(approver.key);
  t.match((await person.request("/staging")).html, /No version waits for approval.+project update TARGET/s);
  await publishFiles(hub, { slug: "tide", version: "1.0.0" }, filesOf("1.0.0", "false"));
  const wants = filesOf("1.1.0", "[api.tides.example:443]");
  await publishFiles(
    hub,
    { slug: "tide", version: "1.1.0", stage: true, key: stager.key },
    { ...wants, "new.js": "1" },
  );
  t.match(plain((await person.request("/staging")).html), /Tide <span class="num">1\.1\.0<.+by.+you may approve it/is);
  const at = `/staging/${plugin}/1.1.0`;
  const { html } = await person.request(at);
  t.match(html, /Rights it did not ask for before.+network: api\.tides\.example:443/s);
  t.match(plain(html), /Files that differ from 1\.0\.0.+new\.js.+added/s);
  t.match(
    plain(html),
    /<summary aria-label="Approve 1.1.0">Approve<\/summary>.+Publish 1\.1\.0 with the digest [0-9a-f]{16}\?/s,
    "it asks first",
  );
  const [, sha256 = ""] = /name="sha256" value="([0-9a-f]{64})"/.exec(html)!;
  t.match(await person.submit(at, `${at}/approve`, { sha256: "0".repeat(64) }), {
    status: 409,
    html: /look at them again/,
  });
  t.match(await person.submit(at, `${at}/reject`), { status: 422 });

  const own = await new Visitor(hub.url).signIn((await newKey(["stage"])).key);
  t.equal((await own.request(at)).status, 404, "another key that may only stage sees none of it");
  const done = await person.submit(at, `${at}/approve`, { sha256 });
  t.equal(done.status, 303);
  t.equal(done.headers.get("location"), "/plugins/tide");
  t.match((await admin.request("/plugins/tide")).html, "stage, approved by publish projects");
  t.equal((await person.request(at)).status, 404);

  const rest = { slug: "tide", version: "1.2.0", stage: true };
  await publishFiles(hub, { ...rest, key: approver.key }, filesOf("1.2.0", "false"));
  const next = `/staging/${plugin}/1.2.0`;
  const shown = (await person.request(next)).html;
  t.match(shown, "who has staged a version does not");
  t.notMatch(shown, ">Approve</summary>");
  t.match(await person.submit(next, `${next}/approve`, { sha256: "0".repeat(64) }), { status: 409 });
  t.equal((await person.submit(next, `${next}/reject`, { reason: "wrong tides" })).status, 303);
  t.match((await person.request("/staging")).html, "No version waits for approval");
});

t.test(
  "the first version of a plugin shows all of its rights and files, and a project's says how to compare",
  async (t) => {
    const { hub, plugin, project, stager, upload } = await startStaging(t, { rateLimits: false });
    await publishFiles(hub, { slug: "tide", version: "1.0.0", stage: true, key: stager.key }, filesOf("1.0.0", "true"));
    await upload(stager.key, "1.0.0", "true");
    const admin = await new Visitor(hub.url).signIn(hub.adminKey);
    t.match((await admin.request(`/staging/${plugin}/1.0.0`)).html, /Rights it asks for.+network: all.+i\.js/s);
    const { html } = await admin.request(`/staging/${project}/1.0.0`);
    t.match(html, `sealift stage diff ${project} 1.0.0`);
    t.match((await admin.request(`/projects/${project}`)).html, /staged<\/span>.+waits for approval since/s);
  },
);

t.test("approval of every version is required on the page, and no longer, after a question", async (t) => {
  const { hub, plugin, project, newKey } = await startStaging(t, { rateLimits: false });
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  const rule = async (id: string) =>
    (await hub.call("GET", `/devkeys/projects/${id}`)).body.requires_approval as boolean;
  for (const [at, id] of [
    ["/plugins/tide/approval", plugin],
    [`/projects/${project}/approval`, project],
  ] as const) {
    t.match((await admin.request(at)).html, /aria-current="page"[^>]*>Approval<.+go out<.+<summary>Require approval</s);
    t.equal(await rule(id), false);
    const done = await admin.submit(at, at, { required: "yes" });
    t.strictSame([done.status, done.headers.get("location")], [303, at]);
    t.equal(await rule(id), true);
    t.match(
      plain((await admin.request(at)).html),
      /need approval<.+<summary>Require no approval<.+Let everybody who may/s,
    );
    await admin.submit(at, at, { required: "no" });
    t.equal(await rule(id), false);
  }
  const reader = await new Visitor(hub.url).signIn((await newKey(["read"])).key);
  const at = "/plugins/tide/approval";
  const { html } = await reader.request(at);
  t.match(html, "sealift project update plugin:tide --require-approval");
  t.notMatch(html, "<summary>Require");
  t.equal((await reader.submit(at, at, { required: "yes" })).status, 403);
  t.equal(await rule(plugin), false);
});

t.test("a key that neither publishes nor stages is shown no way there", async (t) => {
  const hub = await startHub(t);
  const { body } = await hub.call("POST", "/devkeys/api-keys", { json: { name: "reads", scopes: ["read"] } });
  const reader = await new Visitor(hub.url).signIn(body.key as string);
  t.notMatch((await reader.request("/")).html, "/staging");
  t.equal((await reader.request("/staging")).status, 403);
});
