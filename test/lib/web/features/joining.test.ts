import t from "tap";
import { startHub } from "../../../support/hub/harness.ts";
import { askAsClones, invited, ownSecrets, signerHex } from "../../../support/hub/joining.ts";
import { fleetOf } from "../../../support/hub/project-fleet.ts";
import { Visitor } from "../../../support/hub/web.ts";

t.test("hosts are invited, approved, renamed and removed on the page of a project, without script", async (t) => {
  const hub = await startHub(t);
  const { project, at, join, list, enter } = await invited(hub);
  const visitor = await new Visitor(hub.url).signIn(project.key);
  const page = `/projects/${project.id}/hosts`;
  const shown = async () => (await visitor.request(page)).html.replaceAll("<!-- -->", "");
  t.match(await shown(), "No host has joined yet.");
  t.match((await visitor.request(`/projects/${project.id}`)).html, `href="${page}"`, "a tab leads there");

  const signer = signerHex();
  const fields = { uses: "2", hours: "1", labels: "env=prod, region=eu", signers: signer, approve: "yes" };
  const made = await visitor.submit(page, `${page}/invites`, fields);
  t.equal(made.status, 200);
  const [, token] = /(sjt_[\w-]{43})\.[0-9a-f]{32}/.exec(made.html)!;
  t.match(made.html, "sealift join http");
  t.notMatch(await shown(), "sjt_", "the token is shown once");
  const secrets = ownSecrets();
  const asked = { token: token!, host: "localhost" };
  t.match((await join(asked.token, asked.host, secrets)).body, { state: "pending", labels: { env: "prod" } });
  const waiting = await shown();
  t.match(waiting, /Waiting for approval[^]*localhost[^]*127\.0\.0\.1/);
  t.match(waiting, /1 of 2[^]*env=prod,region=eu/);
  t.notMatch(waiting, "No host has joined yet.");

  const renamed = await visitor.submit(page, `${page}/localhost/rename`, { host_id: "pier-7" });
  t.equal(renamed.headers.get("location"), page);
  t.equal((await visitor.submit(page, `${page}/pier-7/approve`)).status, 303);
  t.match(await shown(), /pier-7[^]*approved/);
  t.match((await join(asked.token, asked.host, secrets)).body, { state: "joined", host_id: "pier-7" });
  const json = { xdevkey: secrets.key, project_id: project.id };
  const session = async () =>
    (await hub.call("POST", "/app/deploy/v1/auth", { key: null, json })).body.access_token as string;
  await (await fleetOf(hub, { ...project, session })).report("pier-7", "1.0.0", { labels: { env: "prod" } });
  const joined = await shown();
  t.match(
    joined,
    new RegExp(`href="/projects/${project.id}/fleet/pier-7"[^]*>joined<[^]*1\\.0\\.0[^]*<time[^]*env=prod`),
  );
  t.notMatch(joined, "Waiting for approval");
  await askAsClones(hub, secrets.key, "pier-7");
  await hub.hub.upkeep.run();
  t.match(await shown(), /it was cloned[^]*pier-7[^]*2 machines[^]*127\.0\.0\.1 <time[^]*127\.0\.0\.1 <time/);

  t.equal((await visitor.submit(page, `${page}/pier-7/remove`)).status, 303);
  t.strictSame([await list(), await enter(secrets.key)], [[], 401]);
  const invite = /invites\/(inv_\w+)\/revoke/.exec(await shown())![1]!;
  t.equal((await visitor.submit(page, `${page}/invites/${invite}/revoke`)).status, 303);
  t.match((await hub.call("GET", `${at}/host-invites`)).body.items, [{ id: invite, state: "revoked" }]);
  t.notMatch(await shown(), `invites/${invite}/revoke`);

  const { items } = (await hub.call("GET", "/devkeys/audit")).body as {
    items: { action: string; facts: { by?: string } }[];
  };
  t.strictSame(
    items.filter(({ facts }) => facts.by === "web").map(({ action }) => action),
    ["invite.revoke", "host.remove", "host.approve", "host.rename", "invite.create"],
  );
});

t.test("a form that says something wrong is refused, and makes nothing", async (t) => {
  const hub = await startHub(t);
  const { project, at } = await invited(hub);
  const visitor = await new Visitor(hub.url).signIn(project.key);
  const page = `/projects/${project.id}/hosts`;
  const sound = { uses: "1", hours: "1", labels: "", signers: signerHex() };
  for (const [fields, text] of [
    [{ uses: "many" }, "uses: must be a whole number"],
    [{ hours: "0" }, "hours: must be a whole number"],
    [{ labels: "env" }, "labels: must be NAME=VALUE"],
    [{ labels: "env=a env=b" }, "labels: must be NAME=VALUE"],
    [{ signers: "" }, "signers"],
    [{ signers: "abc" }, "must be a public key"],
  ] as const) {
    const { status, html } = await visitor.submit(page, `${page}/invites`, { ...sound, ...fields });
    t.equal(status, 422, JSON.stringify(fields));
    t.match(html, text);
  }
  t.strictSame((await hub.call("GET", `${at}/host-invites`)).body.items, []);
  const forged = await visitor.request(`${page}/invites`, { method: "POST", body: new URLSearchParams(sound) });
  t.equal(forged.status, 403, "no other site invites hosts");
  for (const act of ["approve", "remove"]) t.equal((await visitor.submit(page, `${page}/nobody/${act}`)).status, 404);

  const { key } = (await hub.call("POST", "/devkeys/api-keys", { json: { name: "reader", scopes: ["read"] } })).body;
  const reader = await new Visitor(hub.url).signIn(key as string);
  const { status, html } = await reader.request(page);
  t.equal(status, 200);
  t.notMatch(html, /Invite hosts<|\/invites"/, "who may not invite is not asked to");
  t.equal((await reader.submit(page, `${page}/invites`, sound)).status, 403);
});

t.test("the form for invites names the signers that hosts are to pin, and hosts come in pages", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const { project, at, invite, join } = await invited(hub);
  const visitor = await new Visitor(hub.url).signIn(project.key);
  const page = `/projects/${project.id}/hosts`;
  const [first, second] = [signerHex(), signerHex()];
  for (const public_key of [first, second])
    await hub.call("POST", `/devkeys/projects/${project.id}/signers`, { json: { public_key } });
  await hub.call("POST", `/devkeys/projects/${project.id}/signers/${second}/retire`, { json: {} });
  t.match((await visitor.request(page)).html, `name="signers" value="${first}"`);
  const { token } = await invite({ uses: 101 });
  for (let host = 0; host < 101; host++) await join(token, `host-${String(host).padStart(3, "0")}`);
  const { html } = await visitor.request(page);
  t.match(html, "host-099");
  t.notMatch(html, "host-100");
  const more = /href="([^"]*cursor=[^"]*)"/.exec(html)![1]!;
  t.match((await visitor.request(more.replaceAll("&amp;", "&"))).html, "host-100");
  const further = await invite({ uses: 2 });
  for (let count = 2; count < 51; count++) await invite();
  const links = (of: string, name: string): string[] =>
    [...of.matchAll(/href="([^"]*)"/g)].map(([, to]) => to!.replaceAll("&amp;", "&")).filter((to) => to.includes(name));
  const newest = (await visitor.request(page)).html.replaceAll("<!-- -->", "");
  t.notMatch(newest, "101 of 101", "the newest fifty invites");
  const [older] = links(newest, "invites=");
  const oldest = (await visitor.request(older!)).html.replaceAll("<!-- -->", "");
  t.match(oldest, /host-099[^]*101 of 101/, "with the hosts of the same page");
  t.notMatch(oldest, `<code>${further.id}`);
  for (const link of links(oldest, "cursor=")) t.match(link, "invites=inv_", "hosts go on, the invites stay");
  const pending = await invite({ approve: true });
  await join(pending.token, "zzz-last");
  t.match(
    (await visitor.request(page)).html,
    /Waiting for approval[^]*zzz-last/,
    "on the first page, whatever its name",
  );
  t.match((await hub.call("GET", `${at}/joined-hosts?state=pending`)).body, {
    items: [{ host_id: "zzz-last" }],
    next: null,
  });
  t.equal((await hub.call("GET", `${at}/joined-hosts?state=other`)).status, 422);
});
