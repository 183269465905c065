/** Hubs that share everything but their processes. */
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Test } from "tap";
import type { HubOptions } from "../../../lib/hub/hub.ts";
import { type RunningHub, startHub } from "./harness.ts";
import { startPostgres } from "./postgres-server.ts";

/** Starts two hubs of one database, storage and key-encryption key. */
export async function startTwoHubs(
  t: Test,
  options: Partial<HubOptions> & { databaseUrl: string },
): Promise<[RunningHub, RunningHub]> {
  const folder = t.testdir();
  const shared = { keks: { file: join(folder, "kek.json") }, blobUrl: join(folder, "blobs"), ...options };
  const [a, b] = [join(folder, "a"), join(folder, "b")];
  const first = await startHub(t, { ...shared, dataDir: a });
  await mkdir(b, { mode: 0o700 });
  await copyFile(join(a, "admin.key"), join(b, "admin.key"));
  return [first, await startHub(t, { ...shared, dataDir: b })];
}

/** Databases that races are run on. */
export const RACED = ["SQLite", "PostgreSQL"] as const;

/** Starts one hub on SQLite twice named, or two on PostgreSQL. @returns undefined where PostgreSQL is not installed */
export async function startRacedHubs(
  t: Test,
  database: (typeof RACED)[number],
  options: Partial<HubOptions> = {},
): Promise<[RunningHub, RunningHub] | undefined> {
  if (database === "SQLite") {
    const hub = await startHub(t, options);
    return [hub, hub];
  }
  const databaseUrl = await startPostgres(t);
  return databaseUrl === undefined ? undefined : startTwoHubs(t, { ...options, databaseUrl });
}
