import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { SealiftError } from "../contract/errors.ts";
import { type ApplicationStatus, MIGRATION_LIMIT_MS } from "../contract/surfaces/app-serve.ts";
import { type ApplicationPaths, applicationPaths, serveFolder } from "../releases/applications.ts";
import type { Layout } from "../releases/layout.ts";
import { giveFolder } from "../support/owned-folder.ts";
import { settledWithin } from "../support/within.ts";
import { ApplicationProcess, endingText, type ProcessOptions } from "./application-process.ts";
import { applicationEnvironment, markValue } from "./environment.ts";
import type { EmitAppServe } from "./events.ts";
import { KeptSockets, requireFree } from "./kept-sockets.ts";
import { endLeftovers, markProcess } from "./leftovers.ts";
import { LogFile } from "./log-file.ts";
import { seedData } from "./prepare.ts";
import { ServeFault } from "./serve-fault.ts";
import { readSetting, type Setting } from "./setting.ts";

/** Pause before an application is started again, in milliseconds; it doubles at each end up to the longest. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** Time after which an application counts as working, in milliseconds: its next end is a first one. */
const STEADY_MS = 60_000;

/** Scripts that the agent writes into a release, relative to the application's folder. */
const START_SCRIPT = ".sealift/start";
const MIGRATE_SCRIPT = ".sealift/migrate";
/** Grace period of a migration that is interrupted, in milliseconds. */
const MIGRATION_END_MS = 5_000;

/** One application of a project root: its process, its sockets, and what is to be done when it ends. */
export class ManagedApplication {
  readonly id: string;
  readonly #layout: Layout;
  readonly #paths: ApplicationPaths;
  readonly #markFile: string;
  readonly #emit: EmitAppServe;
  readonly #log: LogFile;
  readonly #sockets = new KeptSockets();
  /** Work in turn: starts and stops never overlap. */
  #work: Promise<unknown> = Promise.resolve();
  #process: ApplicationProcess | undefined;
  #setting: Setting | undefined;
  #state: ApplicationStatus["state"] = "stopped";
  #since = new Date();
  #startedAt = 0;
  #restarts = 0;
  #error: string | null = null;
  #comeback: NodeJS.Timeout | undefined;
  /** Set while a migration runs, which resolving interrupts. */
  #migration: PromiseWithResolvers<void> | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  /** End of everything, once `close` was called. */
  #closed: Promise<void> | undefined;

  constructor(layout: Layout, id: string, emit: EmitAppServe) {
    this.id = id;
    this.#layout = layout;
    this.#paths = applicationPaths(layout, id);
    this.#markFile = join(serveFolder(layout), `${id}.json`);
    this.#emit = emit;
    this.#log = new LogFile(this.#paths.logs);
  }

  get status(): ApplicationStatus {
    const { user, release, addresses } = this.#setting ?? {};
    return {
      ...{ id: this.id, state: this.#state, since: this.#since.toISOString(), restarts: this.#restarts },
      ...{ pid: this.#process?.pid ?? null, release: release ?? null, error: this.#error },
      ...{ user: user?.name ?? "", same_user: user !== undefined && user.ids === undefined },
      addresses: addresses ?? {},
    };
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
    this.#migration?.resolve();
    return this.#inTurn(async () => {
      await this.#end();
      await this.#startOnPurpose();
    });
  }

  /** Stops the application, and closes its sockets. */
  stop(): Promise<void> {
    this.#migration?.resolve();
    return this.#inTurn(async () => {
      const killed = await this.#end();
      this.#sockets[Symbol.dispose]();
      this.#become("stopped");
      this.#emit({ event: "application.stopped", id: this.id, killed });
    });
  }

  /** Stops the application for good. Each caller waits for the same end. */
  close(): Promise<void> {
    return (this.#closed ??= this.stop().then(() => new Promise<void>((resolve) => this.#log.end(resolve))));
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

  /** Lets the process end, and kills what it or an earlier one left behind. @returns whether it had to be killed */
  async #end(): Promise<boolean> {
    clearTimeout(this.#comeback);
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined) {
      await this.#endLeftovers();
      return false;
    }
    this.#become("stopping");
    const { signal, within } = this.#setting!.app.stop;
    const killed = (await running.end(signal, within * 1000)).signal === "SIGKILL";
    await this.#endLeftovers();
    this.#log.remark(killed ? `killed: it did not end within ${within} s of ${signal}` : "stopped");
    return killed;
  }

  async #startOnPurpose(): Promise<void> {
    this.#restarts = 0;
    this.#pauseMs = FIRST_PAUSE_MS;
    try {
      await this.#start();
    } catch (thrown) {
      const fault = asFault(thrown);
      // Sockets stay open: whoever asked goes back to another release, or stops it.
      this.#become("failed", fault.message);
      this.#tellFailure(fault, null);
      throw fault;
    }
  }

  /** Starts the application by itself; tries again later when that fails. */
  async #startAgain(): Promise<void> {
    if (this.#closed !== undefined) return;
    try {
      await this.#start();
    } catch (thrown) {
      const fault = asFault(thrown);
      const isWaiting = fault.code !== "not_granted" && fault.code !== "not_installed";
      this.#become(isWaiting ? "waiting" : "stopped", fault.message);
      this.#tellFailure(fault, isWaiting ? this.#comeBackLater() : null);
    }
  }

  #tellFailure({ code, message }: ServeFault, restart_ms: number | null): void {
    this.#log.remark(message);
    this.#emit({ event: "application.failed", id: this.id, code, message, restart_ms });
  }

  async #start(): Promise<void> {
    clearTimeout(this.#comeback);
    this.#become("starting");
    await this.#endLeftovers();
    const setting = (this.#setting = await readSetting(this.#layout, this.id));
    const { app, folder, release, user, addresses } = setting;
    await this.#sockets.open(Object.fromEntries(app.listen.map((name) => [name, addresses[name]!])));
    for (const name of app.ports) await requireFree(addresses[name]!);
    await seedData(this.#layout, this.id, setting);
    if (user.ids !== undefined && app.data !== undefined) await giveFolder(this.#paths.data, user.ids);
    const environment = await applicationEnvironment({
      ...{ id: this.id, app, user, addresses, settings: this.#paths.settings },
      ...{ sockets: this.#sockets.names, mark: await this.#mark() },
    });
    const common = { folder, user, log: this.#log };
    if (app.migrate !== undefined) await this.#migrate({ ...common, environment: withoutSockets(environment) });
    const started = await ApplicationProcess.start({
      ...{ ...common, environment, script: START_SCRIPT, sockets: this.#sockets.descriptors },
    });
    this.#process = started;
    this.#startedAt = performance.now();
    this.#become("running");
    await markProcess(this.#markFile, started.pid);
    void started.ended.then((ending) => this.#onEnd(started, endingText(ending)));
    const same_user = user.ids === undefined;
    this.#log.remark(`started from the release ${release} as process ${started.pid}`);
    this.#emit({ event: "application.started", id: this.id, pid: started.pid, release, user: user.name, same_user });
  }

  /** Runs the migration of a release to its end. @throws ServeFault `migration_failed` */
  async #migrate(options: Omit<ProcessOptions, "script" | "sockets">): Promise<void> {
    this.#log.remark("migrates");
    const begun = performance.now();
    const interruption = (this.#migration = Promise.withResolvers<void>());
    const migration = await ApplicationProcess.start({ ...options, script: MIGRATE_SCRIPT, sockets: [] });
    await markProcess(this.#markFile, migration.pid);
    const isOver = await settledWithin(Promise.race([migration.ended, interruption.promise]), MIGRATION_LIMIT_MS);
    const isInterrupted = isOver && (await Promise.race([migration.ended, interruption.promise])) === undefined;
    const ending = await migration.end("SIGTERM", isOver && !isInterrupted ? 0 : MIGRATION_END_MS);
    this.#migration = undefined;
    await this.#endLeftovers();
    if (isOver && !isInterrupted && ending.code === 0) {
      const duration_ms = Math.round(performance.now() - begun);
      return this.#emit({ event: "application.migrated", id: this.id, duration_ms });
    }
    const why = isInterrupted
      ? "another request interrupted it"
      : isOver
        ? endingText(ending)
        : `it took longer than ${MIGRATION_LIMIT_MS / 1000} s`;
    const message = `The migration of ${this.id} failed: ${why}; its output is in ${this.#paths.logs}.`;
    throw new ServeFault("migration_failed", message);
  }

  #onEnd(ended: ApplicationProcess, message: string): void {
    if (this.#process !== ended) return;
    void this.#inTurn(async () => {
      if (this.#process !== ended) return;
      this.#process = undefined;
      if (performance.now() - this.#startedAt >= STEADY_MS) this.#pauseMs = FIRST_PAUSE_MS;
      this.#become("waiting", message);
      const restart_ms = this.#comeBackLater();
      this.#log.remark(`${message}; it is started again in ${restart_ms / 1000} s`);
      this.#emit({ event: "application.ended", id: this.id, message, restart_ms });
    });
  }

  /** @returns the pause in milliseconds */
  #comeBackLater(): number {
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    this.#comeback = setTimeout(() => {
      void this.#inTurn(async () => {
        if (this.#state !== "waiting") return;
        this.#restarts++;
        await this.#startAgain();
      });
    }, pauseMs);
    return pauseMs;
  }

  async #endLeftovers(): Promise<void> {
    await endLeftovers(this.#markFile, await this.#mark());
  }

  #mark = async (): Promise<string> => markValue(await realpath(this.#layout.root), this.id);
}

/** Returns the variables for a migration, which gets no sockets. */
function withoutSockets(environment: Record<string, string>): Record<string, string> {
  const { LISTEN_FDS: _fds, LISTEN_FDNAMES: _names, ...others } = environment;
  return others;
}

function asFault(thrown: unknown): ServeFault {
  if (thrown instanceof ServeFault) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new ServeFault(thrown instanceof SealiftError ? "settings_invalid" : "internal", message, { cause: thrown });
}
