import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";

/** Machine of a measurement, as far as figures depend on it. */
export interface Machine {
  node: string;
  cpus: number;
  model: string | undefined;
  /** Whether hashes are computed by instructions of their own; coreutils does not use them, Node does. */
  sha_instructions: boolean | undefined;
  /** Frequency governor, if the kernel reports it. */
  governor: string | undefined;
  memory_gib: number;
  /** Load average of the minute before the measurement: above 0.5 the machine was busy. */
  load: number;
  /** File system of the folder on disk. */
  disk: string | undefined;
}

const attempt = (read: () => string): string | undefined => {
  try {
    return read().trim();
  } catch {
    return undefined;
  }
};

/** Describes this machine. @param disk folder that counts as the disk */
export function describeMachine(disk: string): Machine {
  const flags = attempt(() => /^(?:flags|Features)\s*:.*$/m.exec(readFileSync("/proc/cpuinfo", "utf8"))![0]);
  return {
    node: process.version,
    cpus: availableParallelism(),
    model: cpus()[0]?.model,
    sha_instructions: flags === undefined ? undefined : /\b(?:sha_ni|sha2)\b/.test(flags),
    governor: attempt(() => readFileSync("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "utf8")),
    memory_gib: Math.round(totalmem() / 2 ** 30),
    load: loadavg()[0]!,
    disk: attempt(() => execFileSync("stat", ["-f", "-c", "%T", disk], { encoding: "utf8" })),
  };
}

/** Renders the machine in one line. */
export const machineLine = ({ node, cpus: count, model, sha_instructions, governor, load, disk }: Machine): string =>
  [
    `Node ${node}`,
    `${count} × ${model ?? "unknown processor"}`,
    sha_instructions === undefined
      ? "SHA instructions unknown"
      : `SHA instructions: ${sha_instructions ? "yes" : "no"}`,
    `governor ${governor ?? "unknown"}`,
    `disk ${disk ?? "unknown"}`,
    `load ${load.toFixed(1)}`,
  ].join(", ");
