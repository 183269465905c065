import { isJob } from "../contract/files/application-kinds.ts";
import type { LimitName } from "../contract/files/limit-forms.ts";
import type { ApplicationStatus } from "../contract/surfaces/app-serve.ts";
import { applicationPaths } from "../releases/applications.ts";
import { readJournal } from "../releases/journal.ts";
import type { Layout } from "../releases/layout.ts";
import { stoppedSince } from "../releases/stopped.ts";
import type { FoundMembers } from "../support/control-groups/member-groups.ts";
import { type ApplicationProcess, endingText } from "./application-process.ts";
import type { EmitAppServe } from "./events.ts";
import type { Kin, Relative } from "./kin.ts";
import { Launcher } from "./launch.ts";
import { usedNow } from "./limits.ts";
import { LogFile } from "./log-file.ts";
import { Pauses } from "./pauses.ts";
import { asFault, ServeFault } from "./serve-fault.ts";
import { readSetting, type Setting } from "./setting.ts";

/** One application of a project root: its state, and what is to be done when its process ends. */
export class ManagedApplication implements Relative {
  readonly id: string;
  readonly #layout: Layout;
  readonly #found: FoundMembers;
  readonly #emit: EmitAppServe;
  readonly log: LogFile;
  readonly #launcher: Launcher;
  readonly #pauses = new Pauses();
  readonly #kin: Kin | undefined;
  /** Ends a wait for the application that this one is of. */
  #waiting = new AbortController();
  /** Work in turn: starts and stops never overlap. */
  #work: Promise<unknown> = Promise.resolve();
  #process: ApplicationProcess | undefined;
  #setting: Setting | undefined;
  #unenforced: readonly LimitName[] = [];
  #state: ApplicationStatus["state"] = "stopped";
  #since = new Date();
  #restarts = 0;
  #error: string | null = null;
  /** End of everything, once `close` was called. */
  #closed: Promise<void> | undefined;

  /**
   * @param found control groups, or why there are none
   * @param kin those that are of it, and the one that it is of
   */
  constructor(layout: Layout, id: string, emit: EmitAppServe, found: FoundMembers, kin?: Kin) {
    this.id = id;
    this.#layout = layout;
    this.#found = found;
    this.#emit = emit;
    this.#kin = kin;
    this.log = new LogFile(applicationPaths(layout, id).logs);
    this.#launcher = new Launcher(layout, id, this.log);
  }

  get status(): ApplicationStatus {
    const { user, release, addresses, membership, limits } = this.#setting ?? {};
    return {
      ...{ id: this.id, state: this.#state, since: this.#since.toISOString(), restarts: this.#restarts },
      ...{ pid: this.#process?.pid ?? null, release: release ?? null, error: this.#error },
      ...{ user: user?.name ?? "", same_user: user !== undefined && user.ids === undefined },
      ...(membership !== undefined && { membership: membership.kind }),
      addresses: addresses ?? {},
      ...(limits !== undefined && { limits, unenforced: this.#unenforced }),
    };
  }

  /** Returns its status, and what it uses now. */
  async use(): Promise<ApplicationStatus> {
    const { pid } = this.#process ?? {};
    if (pid === undefined || this.#setting === undefined) return this.status;
    return { ...this.status, used: await usedNow(this.#setting.membership, pid) };
  }

  /** Starts the application, unless it runs. @throws ServeFault */
  start(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#state !== "running") await this.#startOnPurpose();
    });
  }

  /** Starts the application when `app serve` itself does; a failure is tried again. */
  startAtFirst(): Promise<void> {
    return this.#inTurn(() => this.#startAgain());
  }

  /** Lets the old process end, and starts the application from what is installed now. @throws ServeFault */
  restart(): Promise<void> {
    this.#interrupt();
    return this.#inTurn(() => this.#startOnPurpose());
  }

  /** Restarts the application, and goes on trying when its start fails: what is installed now is to run. */
  recover(): Promise<void> {
    this.#interrupt();
    return this.#inTurn(() => {
      this.#beginAnew();
      return this.#startAgain();
    });
  }

  /** Stops the application, and closes its sockets. */
  stop(): Promise<void> {
    this.#interrupt();
    return this.#inTurn(async () => {
      let killed: boolean;
      try {
        killed = await this.#end();
      } catch (thrown) {
        const fault = asFault(thrown);
        this.#launcher[Symbol.dispose]();
        this.#become("stopped", fault.message);
        this.#tellFailure(fault, null);
        throw fault;
      }
      this.#launcher[Symbol.dispose]();
      this.#become("stopped");
      this.#emit({ event: "application.stopped", id: this.id, killed });
    });
  }

  /** Stops the application for good. Each caller waits for the same end. */
  close(): Promise<void> {
    return (this.#closed ??= this.stop().then(() => new Promise<void>((resolve) => this.log.end(resolve))));
  }

  /** Ends the process until `goOn`: the application that this one is of ends, too. */
  pause(): Promise<void> {
    this.#interrupt();
    return this.#inTurn(async () => {
      if (this.#state === "stopped") return;
      await this.#end().catch((thrown: unknown) => this.#tellFailure(asFault(thrown), null));
      this.#become("waiting");
    });
  }

  /** Starts the application again after a `pause`, and tries again later when that fails. */
  goOn(): void {
    void this.#inTurn(async () => {
      if (this.#state === "waiting") await this.#startAgain();
    });
  }

  /** Ends a migration, and a wait for another application, of a start that is under way. */
  #interrupt(): void {
    this.#waiting.abort();
    this.#launcher.interrupt();
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work);
    this.#work = done.catch(() => undefined);
    return done;
  }

  #become(state: ApplicationStatus["state"], error: string | null = null): void {
    this.#state = state;
    this.#since = new Date();
    this.#error = error;
  }

  #beginAnew(): void {
    this.#restarts = 0;
    this.#pauses.reset();
  }

  /** Lets the process end, and kills what it or an earlier one left behind. @returns whether it had to be killed */
  async #end(): Promise<boolean> {
    this.#pauses.cancel();
    await this.#kin?.pause();
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined) {
      await this.#launcher.end();
      return false;
    }
    this.#become("stopping");
    const { signal, within } = this.#setting!.app.stop;
    const killed = (await running.end(signal, within * 1000)).signal === "SIGKILL";
    await this.#launcher.end();
    this.log.remark(killed ? `killed: it did not end within ${within} s of ${signal}` : "stopped");
    return killed;
  }

  /** Lets an old process end, and starts the application. @throws ServeFault */
  async #startOnPurpose(): Promise<void> {
    if (this.#closed !== undefined) throw new ServeFault("ending", "`sealift app serve` is ending.");
    this.#beginAnew();
    try {
      await this.#end();
      if (!(await this.#staysStopped())) await this.#start();
    } catch (thrown) {
      const fault = asFault(thrown);
      // Sockets stay open: whoever asked goes back to another release, or stops it.
      this.#become("failed", fault.message);
      this.#tellFailure(fault, this.#comeBackLater());
      throw fault;
    }
  }

  /** Lets an old process end, and starts the application by itself; tries again later when that fails. */
  async #startAgain(): Promise<void> {
    if (this.#closed !== undefined) return;
    try {
      await this.#end();
      if (!(await this.#staysStopped())) await this.#start();
    } catch (thrown) {
      const fault = asFault(thrown);
      const isWaiting = fault.code !== "not_granted" && fault.code !== "not_installed";
      this.#become(isWaiting ? "waiting" : "stopped", fault.message);
      this.#tellFailure(fault, isWaiting ? this.#comeBackLater() : null);
    }
  }

  /** Closes the sockets of an application that an operator has stopped. @returns whether one has */
  async #staysStopped(): Promise<boolean> {
    if ((await stoppedSince(this.#layout, this.id)) === undefined) return false;
    this.#launcher[Symbol.dispose]();
    this.#become("stopped");
    this.#emit({ event: "application.stopped", id: this.id, killed: false });
    return true;
  }

  #tellFailure({ code, message }: ServeFault, restart_ms: number | null): void {
    this.log.remark(message);
    this.#emit({ event: "application.failed", id: this.id, code, message, restart_ms });
  }

  async #start(): Promise<void> {
    this.#pauses.cancel();
    this.#become("starting");
    const facts = { found: this.#found, ranAlone: await this.#launcher.ranAlone() };
    this.#setting = await readSetting(this.#layout, this.id, facts);
    if (isJob(this.#setting.app))
      throw new ServeFault("not_installed", `${this.id} is a job, which runs at its times.`);
    this.#waiting = new AbortController();
    await this.#kin?.baseWorks(this.#waiting.signal);
    const { process, setting, unenforced } = await this.#launcher.launch(this.#setting, (duration_ms) =>
      this.#emit({ event: "application.migrated", id: this.id, duration_ms }),
    );
    const { release, user, membership } = setting;
    this.#unenforced = unenforced;
    this.#process = process;
    this.#pauses.begin();
    this.#become("running");
    void process.ended.then((ending) => this.#onEnd(process, endingText(ending)));
    this.log.remark(`started from the release ${release} as process ${process.pid}`);
    this.#emit({
      ...{ event: "application.started", id: this.id, pid: process.pid, release, user: user.name },
      ...{ same_user: user.ids === undefined, membership: membership.kind },
      ...(membership.reason !== undefined && { reason: membership.reason }),
      ...(unenforced.length > 0 && { unenforced, unlimited: whyUnlimited(this.#found) }),
    });
    this.#kin?.goOn();
  }

  #onEnd(ended: ApplicationProcess, message: string): void {
    void this.#inTurn(async () => {
      if (this.#process !== ended) return;
      this.#process = undefined;
      this.#pauses.ended();
      this.#become("waiting", message);
      const restart_ms = this.#comeBackLater();
      this.log.remark(`${message}; it is started again in ${restart_ms / 1000} s`);
      this.#emit({ event: "application.ended", id: this.id, message, restart_ms });
    });
  }

  /** @returns the pause in milliseconds */
  #comeBackLater(): number {
    return this.#pauses.next(() => {
      void this.#inTurn(async () => {
        if (this.#state !== "waiting" && this.#state !== "failed") return;
        // Whoever deploys decides first what is to run.
        if (this.#state === "failed" && (await this.#isDeployed())) return void this.#comeBackLater();
        this.#restarts++;
        await this.#startAgain();
      });
    });
  }

  /** Tells whether a run is switching the application's target, or was cut short in it. */
  async #isDeployed(): Promise<boolean> {
    try {
      const entry = await readJournal(this.#layout);
      return entry !== undefined && entry.phase !== "committed";
    } catch {
      return true;
    }
  }
}

/** Returns why limits do nothing here. */
const whyUnlimited = (found: FoundMembers): string =>
  found.members === undefined ? found.reason : (found.unlimited ?? "its control group has no such controller");
