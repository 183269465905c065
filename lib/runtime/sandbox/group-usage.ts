import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { commonGroup, type GroupPlace, pathOf } from "../walls/own-group.ts";

/** The file's first line is all that is read. */
const MAX_LINE_BYTES = 64;

/**
 * The processor time that a control group has used, besides that of this process: one read tells whether any of many
 * processes has worked. The kernel keeps it for every group, whether or not its controllers are enabled.
 */
export class GroupUsage implements Disposable {
  static readonly #bytes = Buffer.allocUnsafe(MAX_LINE_BYTES);
  readonly #path: string;
  readonly #fd: number;

  /** @throws Error when the kernel does not tell it */
  constructor({ folder, path }: GroupPlace) {
    this.#path = path;
    this.#fd = openSync(join(folder, "cpu.stat"), "r");
    this.othersUs();
  }

  /** Returns that of the group which this process shares with what it starts; undefined without control groups. */
  static common(): GroupUsage | undefined {
    try {
      return new GroupUsage(commonGroup());
    } catch {
      return undefined;
    }
  }

  /** Microseconds that others than this process have used. @throws Error when the kernel does not tell it */
  othersUs(): number {
    // Asking first brings this process's share of the group's time up to date.
    const { user, system } = process.cpuUsage();
    const length = readSync(this.#fd, GroupUsage.#bytes, 0, MAX_LINE_BYTES, 0);
    const used = /^usage_usec (\d+)\n/.exec(GroupUsage.#bytes.toString("latin1", 0, length))?.[1];
    if (used === undefined) throw new Error("cpu.stat does not begin with usage_usec");
    return Number(used) - user - system;
  }

  /** True for a process whose time is counted here. @throws Error when it has ended */
  has(pid: number): boolean {
    const path = pathOf(readFileSync(`/proc/${pid}/cgroup`, "latin1"));
    return path !== undefined && (path === this.#path || path.startsWith(`${this.#path.replace(/\/$/, "")}/`));
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}
