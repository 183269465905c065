import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { usageError } from "../contract/errors.ts";

/**
 * Makes this process the only hub of its data dir: a second one would take the first one's uploads for what a crash left. The lock is the
 * operating system's, held through an SQLite file, so it ends with the process however that ends.
 *
 * @returns gives the lock back
 * @throws UsageError `usage` when another hub has it
 */
export function lockDataDir(dataDir: string): () => void {
  const lock = new DatabaseSync(join(dataDir, "hub.lock"), { timeout: 0 });
  try {
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    throw usageError("usage", `Another hub is running on the data folder ${dataDir}.`, { cause: error });
  }
  return () => lock.close();
}
