import { openBlobs } from "../blobs/open.ts";
import type { Blobs } from "../blobs/port.ts";
import { openDatabase } from "../records/database.ts";
import type { RecordHooks } from "../records/hooks.ts";
import type { Database } from "../records/port.ts";

/** Location of a hub's records. */
export interface DatabasePlace {
  /** Features, with their tables and their part in changes. */
  hooks: readonly RecordHooks[];
  dataDir: string;
  databaseUrl?: string;
}

/** Storage of a hub: its records and its artifacts. */
export interface HubStorage extends DatabasePlace {
  blobUrl?: string;
}

/** Records of a hub, opened by a process other than the hub. */
export interface OpenDatabase extends AsyncDisposable {
  database: Database;
}

/**
 * Opens the records of a hub that may be running.
 *
 * @param mustExist false creates a missing database
 * @throws UsageError `usage` when there must be a hub and there is none
 */
export async function openHubDatabase(
  { dataDir, databaseUrl, hooks }: DatabasePlace,
  { mustExist = true }: { mustExist?: boolean } = {},
): Promise<OpenDatabase> {
  const database = await openDatabase({
    dataDir,
    mustExist,
    hooks,
    ...(databaseUrl !== undefined && { url: databaseUrl }),
  });
  return { database, [Symbol.asyncDispose]: () => database.close() };
}

/** Opens records and artifacts of a hub that may be running. @throws UsageError `usage` when there is no hub */
export async function openHubStorage(storage: HubStorage): Promise<OpenDatabase & { blobs: Blobs }> {
  await using opening = new AsyncDisposableStack();
  const opened = opening.use(await openHubDatabase(storage));
  const blobs = await openBlobs(storage.dataDir, storage.blobUrl);
  opening.move();
  return { ...opened, blobs };
}
