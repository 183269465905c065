// Holds: which new names are told or refused for looking like another owner's (lib/hub/access/new-project.ts)
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import t, { type Test } from "tap";
import type { HubOptions } from "../../../lib/hub/hub.ts";
import { type RunningHub, startHub } from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { startWorkflow } from "../../support/hub/publishers.ts";
import { RACED, startRacedHubs } from "../../support/hub/two-hubs.ts";

const PATH = "/devkeys/projects";

/** Returns a key of an owner who creates and publishes. */
async function keyOf(hub: RunningHub, owner: string): Promise<string> {
  const json = { name: owner, owner, scopes: ["keys", "projects", "publish", "read"] };
  return (await hub.call("POST", "/devkeys/api-keys", { json })).body.key as string;
}

const create = (hub: RunningHub, slug: string, key: string, kind = "plugin") =>
  hub.call("POST", PATH, { json: { name: slug, kind, slug }, key });

/** Returns the facts of the audit entries of creations, by slug. */
async function created(hub: RunningHub): Promise<Record<string, unknown>> {
  const { body } = await hub.call("GET", "/devkeys/audit?action=project.create&limit=100");
  const items = body.items as { facts: { slug: string; looks_like?: string } }[];
  return Object.fromEntries(items.map(({ facts }) => [facts.slug, facts.looks_like]));
}

async function start(t: Test, kind: string, more: Partial<HubOptions> = {}): Promise<RunningHub | undefined> {
  if (kind === "SQLite") return startHub(t, more);
  const databaseUrl = await startPostgres(t);
  return databaseUrl === undefined ? undefined : startHub(t, { ...more, databaseUrl });
}

for (const kind of ["SQLite", "PostgreSQL"]) {
  t.test(`a name like another owner's is told to its creator and to administrators, on ${kind}`, async (t) => {
    const hub = await start(t, kind);
    if (hub === undefined) return t.plan(0, "PostgreSQL is not installed");
    const [harbour, vendor] = [await keyOf(hub, "harbour"), await keyOf(hub, "vendor")];
    const first = await create(hub, "tide-table", harbour);
    t.equal(first.body.looks_like, undefined);
    const second = await create(hub, "tide-tab1e", vendor);
    t.match(second, { status: 201, body: { slug: "tide-tab1e", looks_like: ["tide-table"] } });
    t.strictSame((await create(hub, "tidetable", harbour)).body.looks_like, ["tide-tab1e"], "only another owner's");
    t.equal((await create(hub, "tide_table", vendor, "service")).body.looks_like, undefined, "only of its kind");
    t.match(await created(hub), { "tide-table": undefined, "tide-tab1e": "tide-table", tidetable: "tide-tab1e" });

    const show = async (id: string, key = hub.adminKey) =>
      (await hub.call("GET", `${PATH}/${id}`, { key })).body.looks_like as string[] | undefined;
    t.strictSame(await show(first.body.id as string, harbour), ["tide-tab1e"], "the older one's owner sees it, too");
    t.strictSame(await show(second.body.id as string), ["tide-table", "tidetable"], "and administrators");
    const bound = { name: "bound", owner: "harbour", project_id: first.body.id, scopes: ["publish", "read"] };
    const { body } = await hub.call("POST", "/devkeys/api-keys", { json: bound });
    t.equal(await show(first.body.id as string, body.key as string), undefined, "a bound key hears of no other");

    // A renaming leaves the slug, by which hosts and commands go.
    const renamed = { json: { name: "Tide table" }, key: vendor };
    t.equal((await hub.call("PATCH", `${PATH}/${second.body.id as string}`, renamed)).status, 200);
    const listed = await hub.call("GET", PATH);
    for (const item of listed.body.items as object[]) t.notOk("looks_like" in item, "not in lists");
  });

  t.test(`strict: such a name is an administrator's to give, on ${kind}`, async (t) => {
    const hub = await start(t, kind, { names: "strict" });
    if (hub === undefined) return t.plan(0, "PostgreSQL is not installed");
    const [harbour, vendor] = [await keyOf(hub, "harbour"), await keyOf(hub, "vendor")];
    t.equal((await create(hub, "tide-table", harbour)).status, 201);
    t.equal((await create(hub, "tidetable", harbour)).status, 201, "an owner's own");
    const refused = await create(hub, "tide-tab1e", vendor);
    t.match(refused, { status: 409, body: { code: "name_lookalike", detail: /looks like tide-table, tidetable of/ } });
    t.equal((await hub.call("GET", PATH, { key: vendor })).body.items.length, 0, "nothing was created");
    const given = await create(hub, "tide-tab1e", hub.adminKey);
    t.match(given, { status: 201, body: { looks_like: ["tide-table", "tidetable"] } });
    const transfer = { json: { owner: "vendor" } };
    t.equal((await hub.call("POST", `${PATH}/${given.body.id as string}/transfer`, transfer)).status, 200);
  });
}

t.test("a workflow's target follows the same rule, when it is trusted and when it is created", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  const [harbour, vendor] = [await keyOf(hub, "harbour"), await keyOf(hub, "vendor")];
  await create(hub, "tide-table", harbour);
  const creates = { kind: "plugin", slug: "tide-tab1e", name: "Tide" } as const;
  t.match(await trust({ creates }, vendor), { status: 201, body: { looks_like: ["tide-table"] } });
  t.match(await exchange("plugin:tide-tab1e", await run()), { status: 201, body: { created: true } });
  t.match(await created(hub), { "tide-tab1e": "tide-table" });
});

t.test("strict: neither a pending publisher nor its run creates a look-alike", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t, { names: "strict" });
  const [harbour, vendor] = [await keyOf(hub, "harbour"), await keyOf(hub, "vendor")];
  const creates = { kind: "plugin", slug: "tide-tab1e", name: "Tide" } as const;
  t.equal((await trust({ creates }, vendor)).status, 201, "nothing is alike yet");
  t.equal((await create(hub, "tide-table", harbour)).status, 201);
  t.match(await exchange("plugin:tide-tab1e", await run()), { status: 409, body: { code: "name_lookalike" } });
  t.match(await trust({ creates, name: "again" }, vendor), { status: 409, body: { code: "name_lookalike" } });
  t.equal((await hub.call("GET", PATH, { key: vendor })).body.items.length, 0);
});

for (const database of RACED) {
  t.test(`strict: of two that look alike, created at once, one is there, on ${database}`, async (t) => {
    const hubs = await startRacedHubs(t, database, { names: "strict" });
    if (hubs === undefined) return t.plan(0, "PostgreSQL is not installed");
    const [harbour, vendor] = [await keyOf(hubs[0], "harbour"), await keyOf(hubs[0], "vendor")];
    for (let round = 0; round < 8; round++) {
      const answers = await Promise.all([
        create(hubs[0], `l-${round}x`, harbour),
        create(hubs[1], `i-${round}x`, vendor),
      ]);
      t.strictSame(answers.map(({ status }) => status).toSorted(), [201, 409], `round ${round}`);
    }
  });
}

t.test("names are looked up by an index, however many there are", async (t) => {
  const statements = new Set<string>();
  const hub = await startHub(t, { onStatement: (text) => statements.add(text) });
  await create(hub, "tide-table", hub.adminKey);
  const text = [...statements].find((each) => each.startsWith("SELECT") && each.includes("replace("));
  using database = new DatabaseSync(join(hub.dataDir, "hub.sqlite"), { readOnly: true });
  const plan = database
    .prepare(`EXPLAIN QUERY PLAN ${text}`)
    .all()
    .map(({ detail }) => String(detail));
  t.match(
    plan.find((step) => / p\b/.test(step)),
    /^SEARCH p USING INDEX projects_skeleton \(<expr>=\? AND kind=\?\)/,
  );
});
