import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { makeFolder } from "../../support/files.ts";
import { tryLock } from "../../support/process-lock.ts";

/**
 * Creates the data folder, private to the hub's user, and locks it: a second hub would remove the first one's uploads.
 *
 * @throws UsageError `usage` when it cannot be created, or another hub uses it
 */
export async function openDataDir(dataDir: string): Promise<Disposable> {
  try {
    await makeFolder(dataDir);
    await chmod(dataDir, 0o700);
  } catch (error) {
    throw usageError("usage", `The data folder ${dataDir} cannot be made: ${(error as Error).message}.`, {
      cause: error,
      hint: "Choose another --data-dir.",
    });
  }
  const lock = tryLock(join(dataDir, "hub.lock"));
  if (lock !== undefined) return lock;
  throw usageError("usage", `Another hub is running on the data folder ${dataDir}.`, {
    hint: "Stop that one first, or give this one a --data-dir of its own. Hubs share a PostgreSQL database and a bucket, never a data folder.",
  });
}
