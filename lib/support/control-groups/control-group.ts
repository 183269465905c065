import { type Dirent, existsSync, readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { mkdir, readdir, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ifThere } from "../files.ts";
import type { Logger } from "../logging.ts";

/** Control groups (cgroup v2) of one program: one for each process of its, whose limits the kernel enforces. */

/** Controllers in use, each with a phrase for what it limits. */
export const BOUNDS = { memory: "memory", cpu: "processor", pids: "processes", io: "disk throughput" } as const;
export type Controller = keyof typeof BOUNDS;

export interface GroupLimits {
  memoryMb: number;
  /** Percent of one core; 150 is one and a half. */
  cpuPercent: number;
  /** Limit on reading, and on writing, in megabytes per second. */
  ioMbPerSecond?: number | undefined;
}

export interface GroupBounds extends GroupLimits {
  /** Folder on the disk whose traffic is limited. */
  disk: string;
}

/** Most processes and threads of one sandbox; Node.js has about 15 threads. */
const MAX_TASKS = 128;
const MEGABYTE = 1024 * 1024;
/** Length of the kernel's accounting periods for the processor, in microseconds. */
export const CPU_PERIOD_US = 100_000;
/** Pauses between attempts to remove a group, whose last process may not be reaped yet, in milliseconds. */
const REMOVAL_PAUSES_MS = [5, 10, 20, 50, 100, 200, 500, 1000];

/** Returns when a process started, in the kernel's ticks: with its id it names the process for good. */
export function startOf(pid: number): string | undefined {
  try {
    // The second field is the program's name, which may hold anything, including `)` and blanks.
    return readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ")[19];
  } catch {
    return undefined;
  }
}

/**
 * Returns the bounds of the traffic with the disk that a folder is on.
 * @throws Error when it is on none that the kernel counts by
 */
function ioBound(folder: string, bytes: number): Record<string, string> {
  const device = diskOf(folder);
  if (device === undefined) throw new Error(`the kernel cannot bound the traffic with the file system of ${folder}`);
  return { "io.max": `${device} rbps=${bytes} wbps=${bytes}` };
}

/**
 * Kills every process of a control group at once. Does nothing where the group is gone.
 *
 * Before Linux 5.14 there is no `cgroup.kill`: the group is frozen meanwhile, so that none of it starts another.
 */
export function killGroup(folder: string): void {
  try {
    writeFileSync(join(folder, "cgroup.kill"), "1");
  } catch {
    killFrozen(folder);
  }
}

function killFrozen(folder: string): void {
  const freeze = (state: "0" | "1"): void => {
    try {
      writeFileSync(join(folder, "cgroup.freeze"), state, { flag: "r+" });
    } catch {
      // A group that is gone, or a kernel before 5.2: then whoever waits for the end asks again.
    }
  };
  freeze("1");
  for (const pid of membersOf(folder)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
  freeze("0");
}

/** Returns the ids of a control group's processes, without those of groups below it; none where it is gone. */
export function membersOf(folder: string): number[] {
  try {
    return readFileSync(join(folder, "cgroup.procs"), "latin1").split("\n").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Control group of one process. Its owner disposes of it when the process has ended. */
export class ControlGroup {
  readonly #folder: string;
  readonly #onEnd: (group: ControlGroup) => void;

  constructor(folder: string, onEnd: (group: ControlGroup) => void) {
    this.#folder = folder;
    this.#onEnd = onEnd;
  }

  /** Moves a process into the group, with everything that it starts from then on. @throws Error from the kernel */
  add(pid: number): void {
    writeFileSync(join(this.#folder, "cgroup.procs"), String(pid));
  }

  /** Kills every process in the group at once, whatever session it has made for itself. */
  kill(): void {
    killGroup(this.#folder);
  }

  /** True when the kernel has ended a process of the group because its memory was full. */
  get outOfMemory(): boolean {
    try {
      return /^oom_kill [1-9]/m.test(readFileSync(join(this.#folder, "memory.events"), "latin1"));
    } catch {
      return false;
    }
  }

  /** Kills what is left in the group and removes it, in the background. */
  end(): void {
    this.kill();
    this.#onEnd(this);
  }

  /** Removes the group once it is empty. @returns false when it would not go */
  async remove(): Promise<boolean> {
    for (const pause of [...REMOVAL_PAUSES_MS, 0]) {
      try {
        await ifThere(rmdir(this.#folder));
        return true;
      } catch {
        await delay(pause);
      }
    }
    return false;
  }
}

export class ControlGroups implements AsyncDisposable {
  /** Controllers that work here. */
  readonly controllers: readonly Controller[];
  readonly #parent: string;
  readonly #logger: Logger;
  readonly #removals = new Set<Promise<void>>();
  readonly #name = `sealift-${process.pid}-${startOf(process.pid) ?? 0}-`;
  static #last = 0;

  /** @param parent group without processes, whose `controllers` are enabled for the groups in it */
  constructor(parent: string, controllers: readonly Controller[], logger: Logger) {
    this.#parent = parent;
    this.controllers = controllers;
    this.#logger = logger;
  }

  /** Makes the group of one process. @throws Error from the kernel */
  async create({ memoryMb, cpuPercent, ioMbPerSecond, disk }: GroupBounds): Promise<ControlGroup> {
    const folder = join(this.#parent, `${this.#name}${++ControlGroups.#last}`);
    await mkdir(folder);
    const group = new ControlGroup(folder, (ended) => this.#remove(ended));
    const files: Record<Controller, Record<string, string>> = {
      memory: { "memory.max": String(memoryMb * MEGABYTE), "memory.oom.group": "1" },
      cpu: { "cpu.max": `${Math.round((cpuPercent * CPU_PERIOD_US) / 100)} ${CPU_PERIOD_US}` },
      pids: { "pids.max": String(MAX_TASKS) },
      io: ioMbPerSecond === undefined ? {} : ioBound(disk, ioMbPerSecond * MEGABYTE),
    };
    try {
      for (const controller of this.controllers) {
        for (const [file, value] of Object.entries(files[controller])) await writeFile(join(folder, file), value);
      }
      // Missing where the kernel has no swap accounting: then there is no swap to limit.
      if (this.controllers.includes("memory"))
        await ifThere(writeFile(join(folder, "memory.swap.max"), "0", { flag: "r+" }));
      return group;
    } catch (error) {
      group.end();
      throw error;
    }
  }

  /** Kills what killed runtimes have left in their groups, and removes those. */
  async removeLeftovers(): Promise<void> {
    const entries: Dirent[] = await readdir(this.#parent, { withFileTypes: true });
    for (const { name } of entries.filter((entry) => entry.isDirectory())) {
      const [, pid, start] = /^sealift-(\d+)-(\d+)-\d+$/.exec(name) ?? [];
      if (pid === undefined || startOf(Number(pid)) === start) continue;
      new ControlGroup(join(this.#parent, name), (ended) => this.#remove(ended)).end();
    }
    await this[Symbol.asyncDispose]();
  }

  /** Resolves when every group that has ended is removed. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#removals);
  }

  #remove(group: ControlGroup): void {
    const removal = group.remove().then((isGone) => {
      this.#removals.delete(removal);
      if (!isGone) this.#logger.warn("the control group of a sandbox could not be removed: its processes do not end");
    });
    this.#removals.add(removal);
  }
}

/**
 * Returns the kernel's number of a folder's disk, `MAJOR:MINOR`; undefined for file systems without a disk of their
 * own, such as those in memory, over a network, or over several disks.
 * @param devices the kernel's folder of block devices
 */
export function diskOf(folder: string, devices = "/sys/dev/block"): string | undefined {
  const device = BigInt(statSync(folder).dev);
  // The C library's layout of a device number: 12 and 20 bits, each in two parts (makedev(3)).
  const major = ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn);
  const minor = (device & 0xffn) | ((device >> 12n) & ~0xffn);
  const entry = join(devices, `${major}:${minor}`);
  if (!existsSync(entry)) return undefined;
  // Limits apply to a whole disk, whose folder contains that of a partition.
  const real = realpathSync(entry);
  const disk = existsSync(join(real, "partition")) ? dirname(real) : real;
  return readFileSync(join(disk, "dev"), "latin1").trim();
}
