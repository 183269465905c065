import type { ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { RuntimeFault } from "../guest/fault.ts";
import type { Frame } from "../guest/frames.ts";
import type { ControlGroup } from "../walls/control-group.ts";
import { enclosedPid } from "../walls/spawn.ts";
import type { Enclosed, Program } from "../walls/wall.ts";
import type { Sampled } from "./memory-sampler.ts";
import type { Reaper } from "./reaper.ts";

/** Ends a process group at once. @returns false for an unknown group */
function killGroup(leader: number): boolean {
  try {
    return process.kill(-leader, "SIGKILL");
  } catch {
    return false;
  }
}

/** For which an end waits for the plugin's process once its wall is gone, and how often it looks. Milliseconds. */
const LEAVING_MS = 5000;
const LEAVING_CHECK_MS = 5;

/** True until a process has ended, whether or not its parent has asked for its exit code. */
async function runs(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => ") X ");
  return !/\) [ZX] /.test(stat);
}

export interface PlaceOptions {
  launch: Program | Enclosed;
  child: ChildProcess;
  /** The leader of the child's process group: the plugin's process, or the wall around it. */
  leader: number;
  group: ControlGroup | undefined;
  /** Its `pid` is set to that of the plugin's process. */
  sampled: Sampled;
  reaper: Reaper;
}

/** The place of one sandbox's process among those of the host, which a wall may have put elsewhere; and its end. */
export class ProcessPlace {
  /** Resolves when it is known. @throws RuntimeFault `sandbox_unavailable` */
  readonly known: Promise<void>;
  readonly #options: PlaceOptions;
  #told: PromiseWithResolvers<void> | undefined;
  #isOver = false;

  constructor(options: PlaceOptions) {
    this.#options = options;
    options.reaper.add(options.leader);
    const where = "process" in options.launch ? options.launch.process : "same";
    if (where === "elsewhere") this.#told = Promise.withResolvers();
    this.known = where === "child" ? this.#locate() : (this.#told?.promise ?? Promise.resolve());
  }

  /** True for a process that has not told its id yet: its first frame does, before any code of the plugin runs. */
  get isAwaited(): boolean {
    return this.#told !== undefined;
  }

  /** Takes the first frame of a process that somebody else has started. */
  isAt({ t, pid }: Frame["header"]): void {
    const told = this.#told;
    this.#told = undefined;
    if (t !== "here" || typeof pid !== "number" || pid < 2) return;
    this.#options.sampled.pid = pid;
    this.#options.reaper.add(pid);
    told?.resolve();
    // It was given up before it had begun.
    if (this.#isOver) killGroup(pid);
  }

  /** Ends all that belongs to the process. */
  kill(): void {
    this.#isOver = true;
    const { group, sampled, leader, child, launch } = this.#options;
    group?.kill();
    if ("process" in launch && launch.process === "elsewhere" && sampled.pid !== leader) killGroup(sampled.pid);
    // It has no group of its own yet, or is gone.
    if (!killGroup(leader)) child.kill("SIGKILL");
  }

  /** Waits until the plugin's process has left, too, now that its wall has; then forgets it. */
  async left(): Promise<void> {
    const { reaper, leader, sampled } = this.#options;
    const until = performance.now() + LEAVING_MS;
    while (sampled.pid !== leader && (await runs(sampled.pid)) && performance.now() < until)
      await sleep(LEAVING_CHECK_MS);
    for (const pid of new Set([leader, sampled.pid])) reaper.remove(pid);
  }

  async #locate(): Promise<void> {
    const pid = await enclosedPid(this.#options.child);
    if (pid === undefined)
      throw new RuntimeFault("sandbox_unavailable", "The wall around the plugin could not be built.");
    this.#options.sampled.pid = pid;
  }
}
