/**
 * `npm run build && node scripts/load/bound-keys.ts --hosts 10000 --turns 6`: what a poll of a project costs the built
 * hub when the host's key speaks for it alone, and when the key speaks for any. Both fleets poll by turns, on SQLite or
 * with `--database-url postgres://…` on an empty PostgreSQL. Prints the hub's processor time for a poll.
 */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hashOf } from "../../lib/hub/base/identity.ts";
import { FEATURES } from "../../lib/hub/features.ts";
import { openDatabase } from "../../lib/hub/records/database.ts";
import { createProject, hubAt, publication } from "../../test/support/hub/harness.ts";
import { scriptArguments } from "../arguments.ts";
import { serveHub } from "../bench/stage.ts";
import { median, spread } from "../bench/statistics.ts";

/** Requests under way at a time. */
const AT_ONCE = 8;
/** Rows per statement. */
const BATCH = 500;
/** Unit of process times on Linux, in microseconds. */
const TICK_US = 10_000;

const FLEETS = ["any", "bound"] as const;
type Fleet = (typeof FLEETS)[number];

const tokenOf = (fleet: Fleet, host: number): string => `${fleet}-session-${host}`;

/** Gives each host of both fleets a key and an open session directly: over the wire, they would take minutes. */
async function fill(dataDir: string, url: string | undefined, projectId: string, hosts: number): Promise<void> {
  const database = await openDatabase({ hooks: FEATURES, dataDir, ...(url !== undefined && { url }) });
  const later = new Date(Date.now() + 86_400_000).toISOString();
  const created_at = new Date().toISOString();
  for (const fleet of FLEETS)
    for (let first = 0; first < hosts; first += BATCH) {
      const each = Array.from({ length: Math.min(BATCH, hosts - first) }, (_, index) => first + index);
      const keys = each.map((host) => ({
        ...{ id: `key_${fleet}${host}`, name: `host-${host}`, owner: "bench", project_id: projectId, created_at },
        ...{ scopes: "deploy report read", prefix: "slk_", hash: hashOf(`${fleet}-key-${host}`) },
        ...{ host: fleet === "bound" ? `host-${host}` : null, expires_at: null, revoked_at: null, last_used_at: null },
      }));
      const sessions = each.map((host) => ({
        ...{ hash: hashOf(tokenOf(fleet, host)), key_id: `key_${fleet}${host}` },
        ...{ project_id: projectId, expires_at: later },
      }));
      const joined = each.map((host) => ({
        ...{
          project_id: projectId,
          host_id: `host-${host}`,
          invite_id: null,
          key_hash: null,
          state: "joined" as const,
        },
        ...{ address: "", created_at, machines: "[]" },
      }));
      await database.kysely.insertInto("api_keys").values(keys).execute();
      await database.kysely.insertInto("sessions").values(sessions).execute();
      if (fleet === "bound")
        await database.kysely
          .withTables<{ joined_hosts: (typeof joined)[number] }>()
          .insertInto("joined_hosts")
          .values(joined)
          .execute();
    }
  await database.close();
}

const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

/** Polls once. @throws Error for any answer but the version */
function poll(url: string, fleet: Fleet, host: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const headers = {
    authorization: `Bearer ${tokenOf(fleet, host)}`,
    "x-sealift-host": `host-${host}`,
    "x-sealift-running": "1.0.0",
    "x-sealift-instance": `the-watch-of-${host}`,
  };
  get(url, { agent, headers }, (response) => {
    if (response.statusCode !== 200) reject(new Error(`a poll was answered with ${response.statusCode}`));
    response.resume().once("close", resolve);
  }).once("error", reject);
  return promise;
}

/** Returns the microseconds of processor time of a process. */
function processorTime(pid: number): number {
  const [, fields = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [user, system] = fields.split(" ").slice(11, 13).map(Number);
  return (user! + system!) * TICK_US;
}

const { values } = scriptArguments(import.meta.filename, {
  options: {
    hosts: { type: "string", default: "10000" },
    turns: { type: "string", default: "6" },
    "database-url": { type: "string" },
  },
});
const hosts = Number(values.hosts);
const databaseUrl = values["database-url"];
const folder = await mkdtemp(join(tmpdir(), "sealift-bound-keys-"));
try {
  const dataDir = join(folder, "hub");
  const words = ["--rate-limit", "0", ...(databaseUrl === undefined ? [] : ["--database-url", databaseUrl])];
  let projectId = "";
  {
    await using hub = await serveHub(dataDir, words);
    const project = await createProject(hubAt(hub.url, hub.admin.SEALIFT_API_KEY));
    await project.publish(publication("1.0.0"));
    projectId = project.id;
  }
  await fill(dataDir, databaseUrl, projectId, hosts);
  await using hub = await serveHub(dataDir, words);
  const url = `${hub.url}/app/deploy/v1/projects/${projectId}/versions/latest`;
  const costs: Record<Fleet, number[]> = { any: [], bound: [] };
  const round = async (fleet: Fleet): Promise<number> => {
    const before = processorTime(hub.process.pid!);
    let next = 0;
    const one = async (): Promise<void> => {
      while (next < hosts) await poll(url, fleet, next++);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    return (processorTime(hub.process.pid!) - before) / hosts;
  };
  // The first round of each warms the hub up, and records all hosts for the hour.
  for (const fleet of FLEETS) await round(fleet);
  for (let turn = 0; turn < Number(values.turns); turn++)
    for (const fleet of turn % 2 === 0 ? FLEETS : FLEETS.toReversed()) costs[fleet].push(await round(fleet));
  for (const fleet of FLEETS) {
    const taken = `${median(costs[fleet]).toFixed(0)} µs of the processor a poll (${spread(costs[fleet])})`;
    console.log(`${fleet === "any" ? "keys for any host" : "keys for one host"}: ${taken}`);
  }
  const ratios = costs.bound.map((cost, turn) => cost / costs.any[turn]!);
  console.log(`by turns: ${median(ratios).toFixed(3)} (${spread(ratios, 3)})`);
} finally {
  agent.destroy();
  await rm(folder, { recursive: true, force: true });
}
