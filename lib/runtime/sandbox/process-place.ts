import type { ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { ControlGroup } from "../../support/control-groups/control-group.ts";
import { RuntimeFault } from "../guest/fault.ts";
import { enclosedPid } from "../walls/spawn.ts";
import type { Enclosed, Program } from "../walls/wall.ts";
import type { Sampled } from "./memory-sampler.ts";
import type { Reaper } from "./reaper.ts";

/** Kills a process group. @returns false for an unknown group */
function killGroup(leader: number): boolean {
  try {
    return process.kill(-leader, "SIGKILL");
  } catch {
    return false;
  }
}

/** Longest wait for the plugin's process once its wall is gone, and the interval of checking, in milliseconds. */
const LEAVING_MS = 5000;
const LEAVING_CHECK_MS = 5;

/** Tells whether a process is still running, whether or not its parent has read its exit code. */
async function runs(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => ") X ");
  return !/\) [ZX] /.test(stat);
}

export interface PlaceOptions {
  launch: Program | Enclosed;
  child: ChildProcess;
  /** Leader of the child's process group: the plugin's process, or the wall around it. */
  leader: number;
  group: ControlGroup | undefined;
  /** Sample whose `pid` is set to that of the plugin's process. */
  sampled: Sampled;
  reaper: Reaper;
}

/** Locates one sandbox's process on the host, perhaps below its wall's, and ends it. */
export class ProcessPlace {
  /** Resolves when it is known. @throws RuntimeFault `sandbox_unavailable` */
  readonly known: Promise<void>;
  readonly #options: PlaceOptions;

  constructor(options: PlaceOptions) {
    this.#options = options;
    options.reaper.add(options.leader);
    const { launch } = options;
    this.known = "process" in launch && launch.process === "child" ? this.#locate() : Promise.resolve();
  }

  /** Ends everything that belongs to the process. */
  kill(): void {
    const { group, leader, child } = this.#options;
    group?.kill();
    // It has no group of its own yet, or is gone.
    if (!killGroup(leader)) child.kill("SIGKILL");
  }

  /** Waits until the plugin's process has ended, too, after its wall; then forgets it. */
  async left(): Promise<void> {
    const { reaper, leader, sampled } = this.#options;
    const until = performance.now() + LEAVING_MS;
    while (sampled.pid !== leader && (await runs(sampled.pid)) && performance.now() < until)
      await sleep(LEAVING_CHECK_MS);
    reaper.remove(leader);
  }

  async #locate(): Promise<void> {
    const pid = await enclosedPid(this.#options.child);
    if (pid === undefined)
      throw new RuntimeFault("sandbox_unavailable", "The wall around the plugin could not be built.");
    this.#options.sampled.pid = pid;
  }
}
