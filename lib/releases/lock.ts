import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { deploymentError } from "../contract/errors.ts";

const POLL_MS = 100;

export interface LockOptions {
  /** Milliseconds to wait for another holder. */
  waitMs: number;
  signal?: AbortSignal;
  /** Called once when somebody else holds the lock, with what is known of them. */
  onWaiting?: (holder: string) => void;
}

/**
 * Takes the lock of a project root. It is a write lock of SQLite on an empty database: the kernel lets go of it when its process
 * ends, however it ends, so there is no stale lock to guess about (docs/decisions/0004-lock.md).
 *
 * @throws DeploymentError `root_busy` when the wait is over
 */
export async function acquireLock(path: string, options: LockOptions): Promise<AsyncDisposable> {
  await mkdir(dirname(path), { recursive: true });
  const holderFile = `${path}.holder`;
  const database = new DatabaseSync(path, { timeout: 0 });
  const deadline = Date.now() + options.waitMs;
  try {
    for (let announced = false; !tryLock(database);) {
      const holder = await readFile(holderFile, "utf8").catch(() => "another process");
      if (!announced) options.onWaiting?.(holder);
      announced = true;
      if (Date.now() >= deadline) {
        throw deploymentError("root_busy", `The project root is in use by ${holder}.`, {
          hint: "Wait until it has finished and run the command again.",
        });
      }
      await sleep(POLL_MS, undefined, options.signal && { signal: options.signal });
    }
  } catch (error) {
    database.close();
    throw error;
  }
  await writeFile(holderFile, `process ${process.pid} since ${new Date().toISOString()}`);
  return {
    async [Symbol.asyncDispose]() {
      await rm(holderFile, { force: true });
      database.close();
    },
  };
}

function tryLock(database: DatabaseSync): boolean {
  try {
    database.exec("BEGIN IMMEDIATE");
    return true;
  } catch (error) {
    // SQLITE_BUSY
    if ((error as { errcode?: number }).errcode === 5) return false;
    throw error;
  }
}
