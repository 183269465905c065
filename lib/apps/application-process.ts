import { type ChildProcess, spawn } from "node:child_process";
import { settledWithin } from "../support/within.ts";
import { GUARD_ENVIRONMENT, guarded, statementsOf } from "./guard.ts";
import type { LogFile } from "./log-file.ts";
import { ServeFault } from "./serve-fault.ts";
import type { RunAs } from "./user.ts";

/** Time for the last output of an ended process to arrive, in milliseconds. */
const LAST_OUTPUT_MS = 500;

export interface ProcessOptions {
  /** Script of the release, relative to `folder`. */
  script: string;
  folder: string;
  environment: Record<string, string>;
  user: RunAs;
  /** File of the control group that it enters before anything else; undefined for none. */
  entrance: string | undefined;
  /** Descriptors of this process that become 3 and up. */
  sockets: readonly number[];
  log: LogFile;
  /** Called once its process is there, before its program is started. */
  begun?: () => Promise<void>;
}

/** End of a process. */
export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export const endingText = ({ code, signal }: Ending): string =>
  signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`;

/** Process of an application, the leader of a process group of its own. */
export class ApplicationProcess {
  readonly pid: number;
  /** Resolves when the process has ended. */
  readonly ended: Promise<Ending>;

  private constructor(child: ChildProcess, log: LogFile) {
    this.pid = child.pid!;
    this.ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
    const streams = [child.stdout!, child.stderr!];
    for (const stream of streams) stream.on("error", () => undefined).pipe(log, { end: false });
    const closed = new Promise((resolve) => child.once("close", resolve));
    // A process that it left behind may hold the pipes open.
    void this.ended
      .then(() => settledWithin(closed, LAST_OUTPUT_MS))
      .then(() => streams.forEach((stream) => stream.destroy()));
  }

  /** Starts a script of a release. @throws ServeFault `start_failed` */
  static async start(options: ProcessOptions): Promise<ApplicationProcess> {
    const { script, folder, environment, user, entrance, sockets, log, begun } = options;
    const { file, args, ids } = guarded(script, folder, user, entrance);
    const child = spawn(file, args, {
      cwd: "/",
      env: GUARD_ENVIRONMENT,
      stdio: ["pipe", "pipe", "pipe", ...sockets],
      detached: true,
      ...(ids ?? {}),
    });
    // One that has ended reads nothing: its end says why.
    child.stdin?.on("error", () => undefined);
    const failed = await new Promise<Error | undefined>((resolve) => {
      child.once("error", resolve);
      child.once("spawn", () => resolve(undefined));
    });
    if (failed !== undefined)
      throw new ServeFault("start_failed", `The program could not be started: ${failed.message}.`, { cause: failed });
    const started = new ApplicationProcess(child, log);
    await begun?.();
    child.stdin!.end(statementsOf(environment));
    return started;
  }

  /** Lets the group end, and kills it after `withinMs` milliseconds. Resolves when its leader has ended. */
  async end(signal: NodeJS.Signals, withinMs: number): Promise<Ending> {
    this.#signal(signal);
    await settledWithin(this.ended, withinMs);
    this.#signal("SIGKILL");
    return this.ended;
  }

  #signal(name: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, name);
    } catch {
      // Nothing of the group is left.
    }
  }
}
