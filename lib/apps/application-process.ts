import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { settledWithin } from "../support/within.ts";
import type { LogFile } from "./log-file.ts";
import { ServeFault } from "./serve-fault.ts";
import type { RunAs } from "./user.ts";

/**
 * Prepares a program in its own process: its user may enter its folder; no core dump, which would hold secrets; the
 * kernel ends it, not `app serve`, when memory is short; and handed-over sockets are meant for this very process.
 */
const PREPARE = `cd "$1" 2>/dev/null || {
  echo "sealift: the user $USER may not enter $1: open the folders above it for others (chmod o+x)."
  exit 126
}
ulimit -c 0
{ echo 500 > /proc/self/oom_score_adj; } 2>/dev/null
if [ -n "$LISTEN_FDS" ]; then LISTEN_PID=$$; export LISTEN_PID; fi
exec /bin/sh "$0"`;

/** Flags with which a program ends when `app serve` does, however that happens, and gains no privileges. */
const SETPRIV = ["--pdeathsig", "KILL", "--no-new-privs"];

/** Time for the last output of an ended process to arrive, in milliseconds. */
const LAST_OUTPUT_MS = 500;

let withSetpriv: boolean | undefined;

/** Tells whether this machine has a `setpriv` that knows the flags: util-linux has, BusyBox has not. */
const hasSetpriv = (): boolean =>
  (withSetpriv ??= spawnSync("setpriv", [...SETPRIV, "true"], { stdio: "ignore", timeout: 10_000 }).status === 0);

export interface ProcessOptions {
  /** Script of the release, relative to `folder`. */
  script: string;
  folder: string;
  environment: Record<string, string>;
  user: RunAs;
  /** Descriptors of this process that become 3 and up. */
  sockets: readonly number[];
  log: LogFile;
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
    const { script, folder, environment, user, sockets, log } = options;
    const words = ["/bin/sh", "-c", PREPARE, script, folder];
    const [program, ...args] = hasSetpriv() ? ["setpriv", ...SETPRIV, ...words] : words;
    const child = spawn(program!, args, {
      cwd: folder,
      env: environment,
      stdio: ["ignore", "pipe", "pipe", ...sockets],
      detached: true,
      ...(user.ids ?? {}),
    });
    const failed = await new Promise<Error | undefined>((resolve) => {
      child.once("error", resolve);
      child.once("spawn", () => resolve(undefined));
    });
    if (failed === undefined) return new ApplicationProcess(child, log);
    throw new ServeFault("start_failed", `The program could not be started: ${failed.message}.`, { cause: failed });
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
