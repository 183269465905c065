import { readFile } from "node:fs/promises";
import { missing } from "../../support/files.ts";

/** File with the TCP counters of this network namespace. */
const NETSTAT = "/proc/self/net/netstat";

/** Returns ListenOverflows of a text in the form of `/proc/net/netstat`; undefined when it has none. */
export function listenOverflowsIn(text: string): number | undefined {
  const [names, values] = text
    .split("\n")
    .filter((line) => line.startsWith("TcpExt:"))
    .map((line) => line.split(" "));
  const value = values?.[names!.indexOf("ListenOverflows")];
  return value === undefined ? undefined : Number(value);
}

/**
 * Counts the connections that Linux dropped because a listener's queue was full, over all listeners of the machine.
 *
 * @returns undefined where the kernel does not report it
 */
export async function listenOverflows(): Promise<number | undefined> {
  try {
    return listenOverflowsIn(await readFile(NETSTAT, "utf8"));
  } catch (error) {
    if (missing(error)) return undefined;
    throw error;
  }
}
