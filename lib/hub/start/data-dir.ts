import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { tryLock } from "../../support/process-lock.ts";

/**
 * Creates the data folder, private to the hub's user, and makes this process its only hub: a second one would take the
 * first one's uploads for what a crash left.
 *
 * @throws UsageError `usage` when another hub runs on it
 */
export async function openDataDir(dataDir: string): Promise<Disposable> {
  await mkdir(dataDir, { recursive: true });
  await chmod(dataDir, 0o700);
  const lock = tryLock(join(dataDir, "hub.lock"));
  if (lock !== undefined) return lock;
  throw usageError("usage", `Another hub is running on the data folder ${dataDir}.`);
}
