// Holds: which description a plugin or service shows (lib/hub/records/target-detail.ts)
// Holds: what of plugin.yaml counts as a description (lib/hub/publications/archive-description.ts)
import t, { type Test } from "tap";
import { MarketplaceSearch } from "../../../commands/publishing/marketplace.ts";
import { hmacOf, zipOf } from "../../support/hub/archives.ts";
import { type RunningHub, startHub } from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { Visitor } from "../../support/hub/web.ts";
import { runHere } from "../../support/programs/run-here.ts";

const PLUGINS = "/app/marketplace/plugins";
const SERVICES = "/app/services/services";

async function start(t: Test, kind: string): Promise<RunningHub | undefined> {
  if (kind === "SQLite") return startHub(t);
  const databaseUrl = await startPostgres(t);
  return databaseUrl === undefined ? undefined : startHub(t, { databaseUrl });
}

/** Publishes a version whose plugin.yaml has these lines. */
function publish(
  hub: RunningHub,
  target: string,
  version: string,
  lines: string,
  fields: Record<string, string> = {},
): ReturnType<RunningHub["call"]> {
  const archive = zipOf({
    "tide-1/plugin.yaml": `name: tide\nversion: "${version}"\n${lines}\n`,
    "tide-1/m.js": "1\n",
  });
  const form = new FormData();
  const all = { version, signature: hmacOf(archive, "a developer's own secret"), ...fields };
  for (const [name, value] of Object.entries(all)) form.set(name, value);
  form.set("archive", new Blob([new Uint8Array(archive)], { type: "application/zip" }), "archive.zip");
  return hub.call("POST", `${target}/versions`, { form });
}

const create = (hub: RunningHub, slug: string, kind = "plugin") =>
  hub.call("POST", "/devkeys/projects", { json: { name: slug, kind, slug } });

/** Returns a target's description in its detail record and in the list, which must be the same. */
async function described(t: Test, hub: RunningHub, slug: string, base = PLUGINS): Promise<unknown> {
  const { body } = await hub.call("GET", `${base}/${slug}`);
  const { items } = (await hub.call("GET", `${base}?limit=100`)).body as {
    items: { slug: string; description: unknown }[];
  };
  t.equal(items.find((item) => item.slug === slug)?.description, body["description"], "the list says the same");
  return body["description"];
}

for (const kind of ["SQLite", "PostgreSQL"]) {
  t.test(`plugin.yaml describes a target that nobody has described, on ${kind}`, async (t) => {
    const hub = await start(t, kind);
    if (hub === undefined) return t.plan(0, "PostgreSQL is not installed");
    await create(hub, "tide");
    const tide = `${PLUGINS}/tide`;
    const says = () => described(t, hub, "tide");
    const found = async (q: string): Promise<unknown> =>
      (await hub.call("GET", `${PLUGINS}?q=${q}&count=true`)).body["total"];
    t.equal(await says(), null);

    await publish(hub, tide, "1.0.0", "description: Tells the tide of quays");
    t.equal(await says(), "Tells the tide of quays");
    t.equal(await found("OF%20QUAYS"), 1, "a search finds it");
    await publish(hub, tide, "2.0.0", "description: >\n  Tells the tide\n  of harbours");
    t.equal(await says(), "Tells the tide of harbours", "that of the latest version");
    t.equal(await found("quays"), 0);
    await publish(hub, tide, "1.1.0", "description: A correction of the first one");
    t.equal(await says(), "Tells the tide of harbours", "which this is not");
    await hub.call("POST", `${tide}/versions/2.0.0/yank`, { json: {} });
    t.equal(await says(), "A correction of the first one", "the latest one is another after a yank");

    t.match(await publish(hub, tide, "3.0.0", "description: Not yet approved", { stage: "true" }), { status: 201 });
    t.equal(await says(), "A correction of the first one", "a staged version describes nothing");

    await hub.call("PATCH", tide, { json: { description: "By hand" } });
    t.equal(await says(), "By hand", "what a person says wins");
    t.equal(await found("correction"), 0);
    await publish(hub, tide, "4.0.0", "description: The fourth");
    t.equal(await says(), "By hand", "against later versions, too");
    await hub.call("PATCH", tide, { json: { description: "" } });
    t.equal(await says(), "", "saying nothing is said by a person");
    const taken = await hub.call("PATCH", tide, { json: { description: null } });
    t.equal(taken.body["description"], "The fourth", "taken back");
    t.equal(await says(), "The fourth");
    await publish(hub, tide, "5.0.0", "author: nobody");
    t.equal(await says(), null, "a latest version without one has none");
  });

  t.test(`no plugin.yaml puts more into a description than a person may, on ${kind}`, async (t) => {
    const hub = await start(t, kind);
    if (hub === undefined) return t.plan(0, "PostgreSQL is not installed");
    const odd: Record<string, [lines: string, shown: string | null]> = {
      longest: [`description: ${"x".repeat(4096)}`, "x".repeat(4096)],
      longer: [`description: ${"x".repeat(4097)}`, null],
      nul: ['description: "a\\0b"', null],
      spaces: ['description: " \\n "', null],
      list: ["description: [a, b]", null],
      broken: ["description: [a, b", null],
      large: [`description: short\nnotes: ${"y".repeat(1024 * 1024)}`, null],
      many: [`description: short\nnotes: [${"1,".repeat(30_000)}1]`, null],
      markup: ["description: <b onload=alert(1)>tide</b> & more", "<b onload=alert(1)>tide</b> & more"],
      half: ['description: "a \\uD800 b"', "a \ufffd b"],
    };
    for (const [slug, [lines, shown]] of Object.entries(odd)) {
      await create(hub, slug);
      t.equal((await publish(hub, `${PLUGINS}/${slug}`, "1.0.0", lines)).status, 201, slug);
      t.equal(await described(t, hub, slug), shown, slug);
    }
    await create(hub, "tide", "service");
    await publish(hub, `${SERVICES}/tide`, "1.0.0", "description: A service of tides");
    t.equal(await described(t, hub, "tide", SERVICES), "A service of tides", "a service that has the file");

    const visitor = await new Visitor(hub.url).signIn(hub.adminKey);
    for (const path of ["/?q=markup", "/plugins/markup"]) {
      const { html } = await visitor.request(path);
      t.match(html, "&lt;b onload=alert(1)&gt;tide&lt;/b&gt; &amp; more", path);
      t.notMatch(html, "<b onload", path);
      t.notMatch(html, "No description yet.", path);
    }
  });
}

t.test("a terminal shows a description on one line, and obeys nothing in it", async (t) => {
  const hub = await startHub(t);
  await create(hub, "tide");
  const lines = String.raw`description: "Tells\n the \e[31mtide\u202e"`;
  t.equal((await publish(hub, `${PLUGINS}/tide`, "1.0.0", lines)).status, 201);
  const line = ["marketplace", "search", "tide", "--kind", "plugin", "--hub-url", hub.url, "--api-key", hub.adminKey];
  const { stdout } = await runHere([MarketplaceSearch], line);
  t.match(stdout, /^tide +1\.0\.0 +public +Tells +the tide *$/m);
  t.equal(stdout.trimEnd().split("\n").length, 1);
});
