import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";

/**
 * A folder tree of the shape of cgroup v2, for hosts where the kernel's own is not to be written, or has no
 * controllers. It takes notes where the kernel would bound; a written `cgroup.kill` it obeys.
 */
export class GroupTree {
  readonly folder: string;
  readonly #timer: NodeJS.Timeout;

  constructor(t: Test, { controllers = "cpuset cpu io memory pids", processes = [process.pid] } = {}) {
    this.folder = mkdtempSync(join(tmpdir(), "groups-"));
    this.#write("cgroup.controllers", `${controllers}\n`);
    this.#write("cgroup.type", "domain\n");
    this.#write("cgroup.procs", processes.map((pid) => `${pid}\n`).join(""));
    this.#timer = setInterval(() => this.#obey(), 2).unref();
    t.teardown(() => {
      clearInterval(this.#timer);
      rmSync(this.folder, { recursive: true });
    });
  }

  read(...path: string[]): string {
    return readFileSync(join(this.folder, ...path), "latin1").trim();
  }

  /** The groups of sandboxes that are there, oldest first. */
  get sandboxes(): string[] {
    const number = (name: string): number => Number(name.split("-").at(-1));
    const names = readdirSync(this.folder).filter((name) => /^sealift-\d/.test(name));
    return names.sort((a, b) => number(a) - number(b));
  }

  /** Makes a group with processes in it. */
  group(name: string, ...processes: number[]): void {
    mkdirSync(join(this.folder, name));
    this.#write(join(name, "cgroup.procs"), processes.join("\n"));
  }

  #write(path: string, text: string): void {
    writeFileSync(join(this.folder, path), text);
  }

  #obey(): void {
    for (const name of this.sandboxes) {
      const group = join(this.folder, name);
      if (!existsSync(join(group, "cgroup.kill"))) continue;
      const processes = existsSync(join(group, "cgroup.procs")) ? this.read(name, "cgroup.procs") : "";
      for (const pid of processes.split("\n").filter(Boolean)) {
        try {
          process.kill(Number(pid), "SIGKILL");
        } catch {
          // It has ended.
        }
      }
      // The files of a control group go with it.
      for (const file of readdirSync(group)) rmSync(join(group, file));
    }
  }
}
