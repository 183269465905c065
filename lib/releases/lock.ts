import { constants } from "node:fs";
import { lstat, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { deploymentError, type SealiftError } from "../contract/errors.ts";
import { makeFolder } from "../support/files.ts";
import { tryLock } from "../support/process-lock.ts";

const POLL_MS = 100;
const NO_LINK = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export interface LockOptions {
  /** Milliseconds to wait for another holder. */
  waitMs: number;
  signal?: AbortSignal;
  /** Called once when another process holds the lock, with what is known about it. */
  onWaiting?: (holder: string) => void;
  /** Makes the error for a wait that is over. Default: `root_busy`. */
  busy?: (holder: string) => SealiftError;
}

const NOBODY_KNOWN = "another process";
const holderFileOf = (path: string): string => `${path}.holder`;
const readHolder = (path: string): Promise<string> =>
  readFile(holderFileOf(path), { encoding: "utf8", flag: NO_LINK }).catch(() => NOBODY_KNOWN);

const rootBusy = (holder: string): SealiftError =>
  deploymentError("root_busy", `The project root is in use by ${holder}.`, {
    hint: "Wait until it has finished and run the command again.",
  });

/** Returns what is known about the process that holds a lock, or undefined for a free one. */
export async function holderOf(path: string): Promise<string | undefined> {
  const stats = await lstat(path).catch(() => undefined);
  if (stats?.isFile() !== true) return undefined;
  const lock = tryLock(path);
  if (lock === undefined) return readHolder(path);
  lock[Symbol.dispose]();
  return undefined;
}

const SQLITE_CANTOPEN = 14;

/** Takes a lock, if it is free. @throws DeploymentError `root_unusable` when its file cannot be opened */
function attempt(path: string): Disposable | undefined {
  try {
    return tryLock(path);
  } catch (error) {
    if ((error as { errcode?: number }).errcode !== SQLITE_CANTOPEN) throw error;
    throw deploymentError("root_unusable", `The lock ${path} cannot be opened.`, {
      cause: error,
      hint: "Let this user read and write it. SQLite, which locks it, takes no path of more than 500 bytes.",
    });
  }
}

/** Writes who holds a lock. */
async function note(holderFile: string): Promise<void> {
  // Removed first: an existing link would be written through.
  await rm(holderFile, { force: true });
  await writeFile(holderFile, `process ${process.pid} since ${new Date().toISOString()}`, { flag: "wx" });
}

/**
 * Takes a lock of a project root ({@link tryLock}).
 *
 * @throws DeploymentError `root_busy`, or that of `busy`, when the wait is over; `root_unusable`
 */
export async function acquireLock(path: string, options: LockOptions): Promise<AsyncDisposable> {
  await makeFolder(dirname(path));
  const holderFile = holderFileOf(path);
  // Not by the wall clock, which may be set meanwhile.
  const deadline = performance.now() + options.waitMs;
  let lock = attempt(path);
  for (let announced = false; lock === undefined; lock = attempt(path)) {
    const holder = await readHolder(path);
    if (!announced) options.onWaiting?.(holder);
    announced = true;
    if (performance.now() >= deadline) throw (options.busy ?? rootBusy)(holder);
    await sleep(POLL_MS, undefined, options.signal && { signal: options.signal });
  }
  const held = lock;
  // Best effort: on a full disk, for example, nobody learns who holds the lock.
  await note(holderFile).catch(() => undefined);
  return {
    async [Symbol.asyncDispose]() {
      await rm(holderFile, { force: true }).catch(() => undefined);
      held[Symbol.dispose]();
    },
  };
}
