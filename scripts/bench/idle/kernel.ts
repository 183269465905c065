/** Counters of the kernel for a process: memory, network, and changes on a disk. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";

/** Bytes of the headers of a packet: IPv4, and TCP with its time stamps. */
const HEADER_BYTES = 52;

/** Memory of a process, in MB. */
export interface Memory {
  resident: number;
  /** Memory of its own, without files that are mapped. */
  anonymous: number;
}

export function memoryOf(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const megabytes = (name: string): number =>
    (Number(new RegExp(String.raw`^${name}:\s+(\d+) kB`, "m").exec(text)?.[1]) * 1024) / 1e6;
  return { resident: megabytes("Rss"), anonymous: megabytes("Anonymous") };
}

/** Bytes and packets over the loopback interface of this network namespace, both directions together. */
export interface Traffic {
  /** With the headers of IP and TCP. */
  bytes: number;
  packets: number;
}

export function traffic(): Traffic {
  const [bytes, packets] = /^\s*lo:\s*(\d+)\s+(\d+)/m.exec(readFileSync("/proc/self/net/dev", "utf8"))!.slice(1);
  return { bytes: Number(bytes), packets: Number(packets) };
}

export const trafficSince = (before: Traffic): Traffic => {
  const now = traffic();
  return { bytes: now.bytes - before.bytes, packets: now.packets - before.packets };
};

/** Returns the bytes that TCP carried: those of TLS, where nothing else is spoken. */
export const carried = ({ bytes, packets }: Traffic): number => bytes - HEADER_BYTES * packets;

/** Calls that write to a disk, or change names there. */
const CHANGES = "f?sync|fdatasync|sync_file_range|p?writev?(64|2)?|rename|link|unlink|mkdir|rmdir|f?truncate|fchmod";

/** A program whose changes on a disk are written down by strace, whatever its rights. */
export interface Traced {
  process: ChildProcess;
  /** Returns the calls that changed something below the folder, or synced it, since the last time. */
  changes: () => string[];
}

/**
 * Starts a program whose changes below a folder are recorded. The tracer is no parent of it: the process is the program
 * itself.
 *
 * @param log file for the record, outside of that folder
 */
export function startTraced(
  command: readonly string[],
  { env, folder, log }: { env: Record<string, string | undefined>; folder: string; log: string },
): Traced {
  const tracing = ["--daemonize", "--follow-forks", "--decode-fds=path", "--quiet=all", `--trace=/^(${CHANGES})`];
  const child = spawn("strace", [...tracing, `--output=${log}`, "--", ...command], {
    ...{ env, stdio: ["ignore", "pipe", "inherit"] },
  });
  let read = 0;
  return {
    process: child,
    changes() {
      const lines = readFileSync(log, "utf8").split("\n");
      const since = lines.slice(read, -1);
      read = lines.length - 1;
      return since.filter((line) => line.includes(folder) && !line.includes("resumed>"));
    },
  };
}
