import type { HealthReport } from "../../sdk/definition.ts";
import type { Logger } from "../../support/logging.ts";
import { settledWithin, within } from "../../support/within.ts";
import { messageOf, RuntimeFault } from "../guest/fault.ts";
import type { ExitReason } from "./exit-reason.ts";
import type { SandboxProcess } from "./sandbox-process.ts";

/** The parts that a seat is given by its plugin's instance. */
export interface SeatOptions {
  /** Starts a process of the plugin; `replaces` is true while the seat has had none and an older instance serves. */
  start(onStuck: (process: SandboxProcess, loopAnswers: boolean) => void): Promise<SandboxProcess>;
  policy: RestartPolicy;
  /** Of the restarts, for the message when they are used up. */
  limits: { max_restarts: number; restart_window_seconds: number };
  graceMs: number;
  /** Milliseconds for which a retired process may finish what it has begun. */
  finishMs: number;
  logger: Logger;
  onRestarted(): void;
  /** The seat has given up. */
  onFailed(reason: ExitReason): void;
}

/** One of the places in which a sandboxed plugin runs: a process that serves, and older ones that finish. */
export class SandboxSeat {
  readonly #options: SeatOptions;
  #current: SandboxProcess | undefined;
  /** The start of the next process, while there is no current one. */
  #starting: Promise<SandboxProcess> | undefined;
  readonly #retired = new Set<SandboxProcess>();
  #restarts = 0;
  #stopped = false;

  constructor(options: SeatOptions) {
    this.#options = options;
  }

  /** Starts the first process. @throws RuntimeFault with the reason that it cannot run */
  async load(): Promise<SandboxProcess> {
    const process = await this.#start();
    this.#adopt(process);
    return process;
  }

  get restarts(): number {
    return this.#restarts;
  }

  get current(): SandboxProcess | undefined {
    return this.#current;
  }

  get processes(): SandboxProcess[] {
    return this.#current ? [...this.#retired, this.#current] : [...this.#retired];
  }

  get inFlight(): number {
    let count = this.#current?.calls.size ?? 0;
    for (const { calls } of this.#retired) count += calls.size;
    return count;
  }

  /** The process that takes calls now: alive, and with no doubt about its loop. */
  get serving(): SandboxProcess | undefined {
    const process = this.#current;
    return process?.alive === true && process.calls.suspicion === undefined ? process : undefined;
  }

  /** Settles when something about the seat changes; absent when it is not running. */
  get change(): Promise<unknown> | undefined {
    const { calls, exited } = this.#current ?? {};
    return calls?.suspicion ?? exited ?? this.#starting?.catch(() => undefined);
  }

  async health(timeoutMs: number): Promise<Required<HealthReport>> {
    const restarting = { status: "degraded", message: "the plugin's process is being restarted" } as const;
    const process = this.#current;
    if (process?.alive !== true) return restarting;
    return process.health(timeoutMs).catch((error: unknown) => {
      if (process.alive) throw error;
      return restarting;
    });
  }

  async drain(timeoutMs: number): Promise<void> {
    await settledWithin(Promise.all(this.processes.map(({ calls }) => calls.drained())), timeoutMs);
  }

  /** Restarts nothing from now on. */
  giveUp(): void {
    this.#stopped = true;
  }

  async stop(): Promise<void> {
    this.giveUp();
    const starting = await this.#starting?.catch(() => undefined);
    const processes = new Set([...this.processes, ...(starting ? [starting] : [])]);
    await Promise.all([...processes].map((process) => process.stop(this.#options.graceMs)));
    this.#current = undefined;
  }

  #start(): Promise<SandboxProcess> {
    return this.#options.start((process, loopAnswers) => this.#replaceStuck(process, loopAnswers));
  }

  #adopt(process: SandboxProcess): void {
    this.#current = process;
    void process.exited.then((reason) => {
      this.#retired.delete(process);
      if (this.#current !== process) return;
      this.#current = undefined;
      if (this.#stopped) return;
      this.#options.logger.error({ code: reason.code, pid: process.pid }, reason.message);
      this.#restart(reason);
    });
  }

  /** A cancelled call does not end. A loop that still answers finishes its other calls; one that does not is killed. */
  #replaceStuck(process: SandboxProcess, loopAnswers: boolean): void {
    if (!process.alive) return;
    if (!loopAnswers)
      return process.kill("plugin_crashed", "The plugin's process was ended: a call blocked its event loop.");
    if (this.#current !== process) return;
    const { logger, finishMs, graceMs } = this.#options;
    logger.warn({ pid: process.pid }, "a cancelled call has not ended: the plugin's process is replaced");
    this.#retired.add(process);
    this.#current = undefined;
    const timer = setTimeout(() => process.kill("timed_out", "The process was retired."), finishMs);
    void process.exited.then(() => clearTimeout(timer));
    void process.calls.drained().then(() => process.stop(graceMs));
    this.#restart({ code: "timed_out", message: "A cancelled call did not end." });
  }

  #restart(reason: ExitReason): void {
    const { policy, limits, logger } = this.#options;
    const delay = policy.next();
    if (delay === undefined || reason.code === "disk_exceeded") {
      this.giveUp();
      if (delay !== undefined) return this.#options.onFailed(reason);
      const { max_restarts, restart_window_seconds } = limits;
      const message = `The plugin's process ended more than ${max_restarts} times in ${restart_window_seconds} s; at last: ${reason.message}`;
      return this.#options.onFailed({ code: "retries_exhausted", message });
    }
    const starting = this.#startAfter(delay);
    this.#starting = starting;
    starting.then(
      (process) => {
        this.#starting = undefined;
        if (this.#stopped) return;
        this.#restarts++;
        this.#options.onRestarted();
        this.#adopt(process);
      },
      (error: unknown) => {
        this.#starting = undefined;
        if (this.#stopped) return;
        logger.error({ err: error }, "the plugin's process could not be restarted");
        this.#restart({ code: error instanceof RuntimeFault ? error.code : "load_failed", message: messageOf(error) });
      },
    );
  }

  async #startAfter(delay: number): Promise<SandboxProcess> {
    await new Promise((resolve) => setTimeout(resolve, delay));
    if (this.#stopped) throw new RuntimeFault("not_loaded", "The plugin was unloaded.");
    return this.#start();
  }
}

/** The process with the fewest open calls among those that serve. @param first where to begin: equals take turns */
export function leastBusy(seats: readonly SandboxSeat[], first: number): SandboxProcess | undefined {
  let chosen: SandboxProcess | undefined;
  for (let index = 0; index < seats.length; index++) {
    const process = seats[(first + index) % seats.length]!.serving;
    if (process !== undefined && (chosen === undefined || process.calls.size < chosen.calls.size)) chosen = process;
  }
  return chosen;
}

/** Waits for a restart, or for a doubtful process to answer. @throws RuntimeFault `timed_out` or `not_loaded` */
export async function whenServing(seats: readonly SandboxSeat[], timeoutMs: number): Promise<SandboxProcess> {
  const deadline = performance.now() + timeoutMs;
  const late = () => new RuntimeFault("timed_out", "The plugin's process was not restarted in time.");
  for (;;) {
    const process = leastBusy(seats, 0);
    if (process) return process;
    const changes = seats.flatMap(({ change }) => change ?? []);
    if (changes.length === 0) throw new RuntimeFault("not_loaded", "The plugin's process is not running.");
    await within(Promise.race(changes), deadline - performance.now(), late);
  }
}

interface RestartLimits {
  max_restarts: number;
  restart_window_seconds: number;
  backoff_ms: number;
}

/** Milliseconds; back-off stops growing here. */
const MAX_PAUSE_MS = 30_000;

/** Decides when an ended process is started again: pauses double, and too many ends within the window are the last. */
export class RestartPolicy {
  readonly #limits: RestartLimits;
  readonly #now: () => number;
  #ends: number[] = [];

  constructor(limits: RestartLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Notes an end. Returns the pause in milliseconds, or undefined when the process is to stay down. */
  next(): number | undefined {
    const { max_restarts, restart_window_seconds, backoff_ms } = this.#limits;
    const now = this.#now();
    this.#ends = this.#ends.filter((end) => now - end < restart_window_seconds * 1000);
    this.#ends.push(now);
    if (this.#ends.length > max_restarts) return undefined;
    return Math.min(backoff_ms * 2 ** (this.#ends.length - 1), MAX_PAUSE_MS);
  }
}
