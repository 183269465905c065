// Holds: who sees a private plugin or service (lib/hub/base/rights.ts)
import { sql } from "kysely";
import t, { type Test } from "tap";
import type { Scope } from "../../../lib/contract/surfaces/keys.ts";
import type { Principal } from "../../../lib/hub/base/principal.ts";
import { controlled, CONTROLS, controls, VISIBLE } from "../../../lib/hub/base/rights.ts";
import { FEATURES } from "../../../lib/hub/features.ts";
import { openDatabase } from "../../../lib/hub/records/database.ts";
import { listProjects } from "../../../lib/hub/records/projects.ts";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";

const PROJECT = `prj_${"a".repeat(32)}`;
const PLUGIN = `plg_${"b".repeat(32)}`;
const HIDDEN = `plg_${"c".repeat(32)}`;
const TARGETS = [
  { id: PROJECT, kind: "project", owner: "acme", visibility: "private" },
  { id: PLUGIN, kind: "plugin", owner: "acme", visibility: "public" },
  { id: HIDDEN, kind: "plugin", owner: "acme", visibility: "private" },
  { id: `plg_${"d".repeat(32)}`, kind: "plugin", owner: "else", visibility: "private" },
] as const;
const OWNERS = ["acme", "else", "granted"];
const SCOPES: Scope[][] = [["read"], ["admin"], ["keys", "admin"], ["publish", "read"]];

/** Whether a key sees a target, as the contract says it. */
function sees(key: Principal, target: (typeof TARGETS)[number]): boolean {
  if (target.visibility === "public" || key.projectId === target.id) return true;
  if (key.projectId !== null && !key.projectId.startsWith("prj")) return false;
  if (key.owner === target.owner) return true;
  if (key.projectId === null && key.scopes.has("admin")) return true;
  return target.id === HIDDEN && key.owner === "granted";
}

async function compare(t: Test, url: string | undefined): Promise<void> {
  const database = await openDatabase({ hooks: FEATURES, dataDir: t.testdir(), ...(url !== undefined && { url }) });
  t.teardown(() => database.close());
  const db = database.kysely;
  const none = { description: null, homepage: null, repository: null, latest_version: null, gate: null };
  const rest = {
    ...none,
    created_at: "2026-01-01T00:00:00.000Z",
    detail: null,
    detail_etag: null,
    requires_approval: 0,
    root_id: null,
    root_version: null,
    approval_by: null,
  };
  await db
    .insertInto("projects")
    .values(TARGETS.map((target) => ({ ...target, ...rest, slug: target.id, name: target.id })))
    .execute();
  await db
    .insertInto("grants")
    .values({ target_id: HIDDEN, grantee: "granted", created_at: rest.created_at })
    .execute();
  for (const owner of OWNERS)
    for (const scopes of SCOPES)
      for (const projectId of [null, PROJECT, PLUGIN, HIDDEN]) {
        const key: Principal = {
          keyId: "key_1",
          owner,
          scopes: new Set(scopes),
          projectId,
          host: null,
          expiresAt: null,
        };
        const { rows } = await sql<{ id: string; controls: unknown; sees: unknown }>`
          select p.id, ${sql.raw(CONTROLS)} as controls, ${sql.raw(VISIBLE)} as sees from projects p cross join (
            select cast('key_1' as text) as id, cast(${owner} as text) as owner, cast(${projectId} as text) as project_id,
              cast(${scopes.join(" ")} as text) as scopes) k`.execute(db);
        const named = `${owner} ${scopes.join("+")} ${projectId ?? "unbound"}`;
        for (const target of TARGETS) {
          const row = rows.find(({ id }) => id === target.id)!;
          t.equal(Boolean(row.controls), controls(key, target), `${named} controls ${target.id}`);
          t.equal(Boolean(row.sees), sees(key, target), `${named} sees ${target.id}`);
          t.ok(!controls(key, target) || sees(key, target), "what a key controls it sees");
        }
        const listed = await listProjects(db, controlled(key), { after: "", limit: 10 });
        const own = TARGETS.filter((target) => controls(key, target)).map(({ id }) => id);
        t.strictSame(listed.map(({ id }) => id).sort(), own.toSorted(), `${named} lists what it controls`);
      }
}

t.test("the rules of rights say the same in TypeScript and in SQL", (t) => compare(t, undefined));

t.test("the rules of rights say the same on PostgreSQL", async (t) => {
  const url = await startPostgres(t);
  if (url === undefined) t.plan(0, "PostgreSQL is not installed");
  else await compare(t, url);
});

t.test("a key reads its own record, a project that it controls, and an administrator the hub's facts", async (t) => {
  const hub = await startHub(t);
  const { body: project } = await hub.call("POST", "/devkeys/projects", { json: { name: "Demo", kind: "project" } });
  const { id } = project as { id: string };
  const issue = async (json: object) =>
    (await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", ...json } })).body as { id: string; key: string };
  const bound = await issue({ project_id: id, scopes: ["read"] });
  const other = await issue({ owner: "else", scopes: ["read"] });
  const own = await hub.call("GET", "/devkeys/key", { key: bound.key });
  t.match(own.body, { id: bound.id, owner: "admin", scopes: ["read"], project_id: id });
  t.notOk("key" in (own.body as object));
  isErrorBody(t, await hub.call("GET", "/devkeys/key", { key: "slk_nothing" }), 401, "key_rejected");
  const at = `/devkeys/projects/${id}`;
  t.match((await hub.call("GET", at, { key: bound.key })).body, { id, name: "Demo", owner: "admin" });
  isErrorBody(t, await hub.call("GET", at, { key: other.key }), 404, "not_found");
  t.match((await hub.call("GET", "/devkeys/hub")).body, { database: "sqlite", started_at: /^2/, blobs: String });
  isErrorBody(t, await hub.call("GET", "/devkeys/hub", { key: bound.key }), 403, "forbidden");
});
