import { readdir, readFile } from "node:fs/promises";

/** Files, sockets and pipes of this process. */
export interface Descriptors {
  open: number;
  /** Most that this process may have open; Node has raised the soft limit to the hard one. */
  limit: number;
}

/** Returns the soft limit of open files in a text in the form of `/proc/PID/limits`; Infinity for `unlimited`. */
export function openFilesIn(limits: string): number | undefined {
  const soft = /^Max open files +(\S+)/m.exec(limits)?.[1];
  return soft === undefined ? undefined : soft === "unlimited" ? Infinity : Number(soft);
}

/** Counts the descriptors of this process. Never rejects. @returns undefined where the system does not report them */
export async function descriptors(): Promise<Descriptors | undefined> {
  try {
    const [entries, limits] = await Promise.all([readdir("/proc/self/fd"), readFile("/proc/self/limits", "utf8")]);
    const limit = openFilesIn(limits);
    return limit === undefined ? undefined : { open: entries.length, limit };
  } catch {
    return undefined;
  }
}
