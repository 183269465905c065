import type { HealthReport } from "../../sdk/definition.ts";
import type { Logger } from "../../support/logging.ts";
import { settledWithin, within } from "../../support/within.ts";
import { messageOf, RuntimeFault } from "../guest/fault.ts";
import type { ExitReason } from "./exit-reason.ts";
import type { LateProcess } from "./process-options.ts";
import type { RestartPolicy } from "./restart-policy.ts";
import type { SandboxProcess } from "./sandbox-process.ts";

/** Parts that a seat gets from its plugin's instance. */
export interface SeatOptions {
  /** Starts a process of the plugin; `replaces` is true while the seat has had none and an older instance serves. */
  start(late: LateProcess): Promise<SandboxProcess>;
  policy: RestartPolicy;
  /** Limits of restarts, for the message when they are used up. */
  limits: { max_restarts: number; restart_window_seconds: number };
  graceMs: number;
  /** Time that a retired process gets to finish what it has begun, in milliseconds. */
  finishMs: number;
  logger: Logger;
  onRestarted(): void;
  /** Called when the seat has given up. */
  onFailed(reason: ExitReason): void;
}

/** One of the places in which a sandboxed plugin runs: a serving process, and older ones that finish. */
export class SandboxSeat {
  readonly #options: SeatOptions;
  #current: SandboxProcess | undefined;
  /** Start of the next process: there is no current one, or its loop may be blocked. */
  #starting: Promise<SandboxProcess | undefined> | undefined;
  /** Resolves when the next process takes over; created when somebody waits for it. */
  #takeover: PromiseWithResolvers<void> | undefined;
  readonly #retired = new Set<SandboxProcess>();
  #restarts = 0;
  #notAheadUntil = 0;
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

  /** Process that takes calls now: alive, and without doubt about its loop. */
  get serving(): SandboxProcess | undefined {
    const process = this.#current;
    return process?.alive === true && process.calls.loop.suspicion === undefined ? process : undefined;
  }

  /** Promises that settle when something about the seat changes; none when it is not running. */
  get changes(): Promise<unknown>[] {
    const { calls, exited } = this.#current ?? {};
    const starting = this.#starting?.catch(() => undefined);
    const own = [calls?.loop.suspicion ?? exited, starting].filter((change) => change !== undefined);
    if (own.length === 0) return [];
    // The start of a successor may begin while the loop is still in doubt.
    this.#takeover ??= Promise.withResolvers();
    return [...own, this.#takeover.promise];
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

  /** Stops restarting from now on. */
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
    return this.#options.start({
      silent: (process, isAhead) => this.#prepareSuccessor(process, isAhead),
      stuck: (process, loopAnswers) => this.#replaceStuck(process, loopAnswers),
    });
  }

  #adopt(process: SandboxProcess): void {
    this.#current = process;
    this.#takeover?.resolve();
    this.#takeover = undefined;
    void process.exited.then((reason) => {
      this.#retired.delete(process);
      if (this.#current !== process) return;
      this.#current = undefined;
      if (this.#stopped) return;
      this.#options.logger.error({ code: reason.code, pid: process.pid }, reason.message);
      // Otherwise its successor is already starting.
      if (this.#starting === undefined) this.#restart(reason);
    });
  }

  /**
   * The loop may be blocked: another process starts meanwhile, which takes over unless the loop is heard of first.
   * @param isAhead the time of the call is not over: a plugin whose loop went on the last time gets none so early
   */
  #prepareSuccessor(process: SandboxProcess, isAhead: boolean): void {
    if (!process.alive || this.#current !== process || this.#starting !== undefined || this.#stopped) return;
    if (isAhead && performance.now() < this.#notAheadUntil) return;
    const pause = this.#options.policy.next("blocked");
    // Its end, after the grace period, will be the last.
    if (pause === undefined) return;
    this.#options.logger.warn({ pid: process.pid }, "the plugin's event loop is blocked: another process is started");
    this.#startNext(pause, process);
  }

  /**
   * Replaces a process with a stuck call. A loop that still answers finishes its other calls; one that does not is
   * killed.
   */
  #replaceStuck(process: SandboxProcess, loopAnswers: boolean): void {
    if (!process.alive) return;
    if (!loopAnswers)
      return process.kill("plugin_crashed", "The plugin's process was ended: a call blocked its event loop.");
    if (this.#current !== process) return;
    this.#options.logger.warn({ pid: process.pid }, "a cancelled call has not ended: the plugin's process is replaced");
    this.#retire(process);
    if (this.#starting === undefined) this.#restart({ code: "timed_out", message: "A cancelled call did not end." });
  }

  /** Lets a process finish what it has begun. Calls not yet sent to it go to another one. */
  #retire(process: SandboxProcess): void {
    const { finishMs, graceMs } = this.#options;
    this.#retired.add(process);
    this.#current = undefined;
    process.calls.handBack();
    const timer = setTimeout(() => process.kill("timed_out", "The process was retired."), finishMs);
    void process.exited.then(() => clearTimeout(timer));
    void process.calls.drained().then(() => process.stop(graceMs));
  }

  #restart(reason: ExitReason): void {
    const { policy, limits } = this.#options;
    const delay = policy.next(reason.byCallers === true ? "callers" : "ended");
    if (delay !== undefined && reason.code !== "disk_exceeded") return this.#startNext(delay);
    this.giveUp();
    if (delay !== undefined) return this.#options.onFailed(reason);
    const { max_restarts, restart_window_seconds } = limits;
    const message = `The plugin's process ended more than ${max_restarts} times in ${restart_window_seconds} s; at last: ${reason.message}`;
    this.#options.onFailed({ code: "retries_exhausted", message });
  }

  /** Starts the next process after a pause. @param blocked process to take over from, unless it recovers */
  #startNext(delay: number, blocked?: SandboxProcess): void {
    const { logger, policy, graceMs, limits } = this.#options;
    const hasRecovered = (): boolean =>
      blocked !== undefined && this.serving === blocked && blocked.calls.loop.question === undefined;
    const starting = this.#startAfter(delay, hasRecovered).then(async (process) => {
      await blocked?.calls.loop.question;
      return process;
    });
    this.#starting = starting;
    starting.then(
      (process) => {
        this.#starting = undefined;
        if (this.#stopped) return;
        if (hasRecovered() || process === undefined) {
          policy.forgive();
          this.#notAheadUntil = performance.now() + limits.restart_window_seconds * 1000;
          return void process?.stop(graceMs);
        }
        if (this.#current !== undefined) this.#retire(this.#current);
        this.#restarts++;
        this.#options.onRestarted();
        this.#adopt(process);
      },
      (error: unknown) => {
        this.#starting = undefined;
        if (this.#stopped) return;
        logger.error({ err: error }, "the plugin's process could not be restarted");
        // The blocked process has yet to end or recover.
        if (this.#current !== undefined) return;
        this.#restart({ code: error instanceof RuntimeFault ? error.code : "load_failed", message: messageOf(error) });
      },
    );
  }

  /** Starts a process after a pause. @returns undefined when it is no longer needed by then */
  async #startAfter(delay: number, isNeedless: () => boolean): Promise<SandboxProcess | undefined> {
    if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
    if (this.#stopped) throw new RuntimeFault("not_loaded", "The plugin was unloaded.");
    return isNeedless() ? undefined : this.#start();
  }
}

/**
 * Returns the serving process with the fewest open calls. @param first index to begin with, so that equals take turns
 */
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
    const changes = seats.flatMap((seat) => seat.changes);
    if (changes.length === 0) throw new RuntimeFault("not_loaded", "The plugin's process is not running.");
    await within(Promise.race(changes), deadline - performance.now(), late);
  }
}
