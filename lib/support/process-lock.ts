import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const SQLITE_BUSY = 5;

/**
 * Takes a lock between processes, if it is free: a write lock of SQLite, which the kernel releases however its process
 * ends (docs/decisions/0004-lock.md). The file stays, with mode 0600: anyone who could read it could hold it.
 *
 * @param path file of the lock; its folder exists
 * @returns the lock, which disposing releases, or undefined when somebody else holds it
 */
export function tryLock(path: string): Disposable | undefined {
  createPrivately(path);
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE");
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
  return { [Symbol.dispose]: () => database.close() };
}

/**
 * Creates the file, but never opens an existing one: closing any descriptor of it would release all locks that this
 * process has on it.
 */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
