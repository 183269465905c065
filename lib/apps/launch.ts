import { chmod } from "node:fs/promises";
import { HOST_FOLDER, MIGRATE, START } from "../contract/files/application-names.ts";
import { LAUNCH } from "../contract/files/launch.ts";
import type { LimitName } from "../contract/files/limit-forms.ts";
import { MIGRATION_LIMIT_MS } from "../contract/surfaces/app-serve.ts";
import { type ApplicationPaths, applicationPaths } from "../releases/applications.ts";
import type { Layout } from "../releases/layout.ts";
import { openFolder } from "../releases/open-folder.ts";
import { giveFolder } from "../support/owned-folder.ts";
import { settledWithin } from "../support/within.ts";
import { ApplicationProcess, endingText, type ProcessOptions } from "./application-process.ts";
import { type ApplicationMark, markOf } from "./environment.ts";
import { KeptSockets, requireFree } from "./kept-sockets.ts";
import { launchValue } from "./launch-value.ts";
import { endLeftovers, markFile, markProcess, readMark } from "./leftovers.ts";
import type { LogFile } from "./log-file.ts";
import type { Membership } from "./membership.ts";
import { seedData } from "./prepare.ts";
import { ServeFault } from "./serve-fault.ts";
import type { Setting } from "./setting.ts";

/** Grace period of a migration that is interrupted, in milliseconds. */
const MIGRATION_END_MS = 5_000;

/** Process of an application that was launched, and what it was launched from. */
export interface Launched {
  process: ApplicationProcess;
  setting: Setting;
  /** Limits that nothing enforces here. */
  unenforced: LimitName[];
}

/** Launches one application again and again: its sockets stay, and nothing of an earlier launch does. */
export class Launcher implements Disposable {
  readonly #layout: Layout;
  readonly #id: string;
  readonly #paths: ApplicationPaths;
  readonly #markFile: string;
  readonly #log: LogFile;
  readonly #sockets = new KeptSockets();
  /** Membership of the latest launch, whose processes are ended before the next. */
  #membership: Membership | undefined;
  /** Set while a migration runs, which resolving interrupts. */
  #migration: PromiseWithResolvers<void> | undefined;

  constructor(layout: Layout, id: string, log: LogFile) {
    this.#layout = layout;
    this.#id = id;
    this.#paths = applicationPaths(layout, id);
    this.#markFile = markFile(layout, id);
    this.#log = log;
  }

  /** User who ran the application alone before this `app serve` did, in this boot. */
  async ranAlone(): Promise<number | undefined> {
    return (await readMark(this.#markFile))?.uid;
  }

  /** Ends whatever is left of earlier launches. @throws ServeFault `start_failed` */
  async end(): Promise<void> {
    await endLeftovers(this.#markFile, await this.#mark(), this.#membership);
  }

  /** Interrupts a migration. */
  interrupt(): void {
    this.#migration?.resolve();
  }

  /** Closes the sockets. */
  [Symbol.dispose](): void {
    this.#sockets[Symbol.dispose]();
  }

  /**
   * Starts the program: nobody of an earlier launch is left, its sockets are open and ours alone, its data is seeded
   * and migrated.
   *
   * @param migrated called with the time that a migration took, in milliseconds
   * @throws ServeFault
   */
  async launch(setting: Setting, migrated: (durationMs: number) => void): Promise<Launched> {
    const { app, folder, addresses, membership } = setting;
    await this.end();
    this.#membership = membership;
    // An `app serve` that was killed may have left processes in it, too.
    await this.end();
    await this.#sockets.open(Object.fromEntries(app.listen.map((name) => [name, addresses[name]!])));
    for (const name of app.ports) await requireFree(addresses[name]!);
    await giveOwnData(this.#layout, this.#id, setting);
    const { unenforced, ...value } = await launchValue(this.#layout, this.#id, setting, {
      ...{ group: membership.group, sockets: this.#sockets.names, mark: (await this.#mark()).value },
    });
    const common = { ...value, folder, log: this.#log };
    if (app.migrate !== undefined)
      migrated(await this.#migrate({ ...common, environment: withoutSockets(value.environment) }));
    const script = { script: `${HOST_FOLDER}/${START}`, sockets: this.#sockets.descriptors };
    const started = await ApplicationProcess.start({ ...common, ...script });
    void markProcess(this.#markFile, started.pid, membership);
    return { process: started, setting, unenforced };
  }

  /** Runs the migration of a release to its end. @returns milliseconds @throws ServeFault `migration_failed` */
  async #migrate(options: Omit<ProcessOptions, "script" | "sockets">): Promise<number> {
    this.#log.remark("migrates");
    const begun = performance.now();
    const interruption = (this.#migration = Promise.withResolvers<void>());
    const migration = await ApplicationProcess.start({ ...options, script: `${HOST_FOLDER}/${MIGRATE}`, sockets: [] });
    void markProcess(this.#markFile, migration.pid, this.#membership ?? {});
    const how = await Promise.race([
      migration.ended.then(() => "ended" as const),
      interruption.promise.then(() => "interrupted" as const),
      settledWithin(migration.ended, MIGRATION_LIMIT_MS).then(() => "late" as const),
    ]);
    const ending = await migration.end("SIGTERM", how === "ended" ? 0 : MIGRATION_END_MS);
    this.#migration = undefined;
    await this.end();
    if (how === "ended" && ending.code === 0) return Math.round(performance.now() - begun);
    const why = {
      ended: endingText(ending),
      interrupted: "another request interrupted it",
      late: `it took longer than ${MIGRATION_LIMIT_MS / 1000} s`,
    }[how];
    const message = `The migration of ${this.#id} failed: ${why}; its output is in ${this.#paths.logs}.`;
    throw new ServeFault("migration_failed", message);
  }

  #mark = (): Promise<ApplicationMark> => markOf(this.#layout.root, this.#id);
}

/** Seeds the data folder of an application that has one, and gives it to its user alone. */
export async function giveOwnData(layout: Layout, id: string, setting: Setting): Promise<void> {
  if (setting.app.data === undefined) return;
  const { data: folder } = applicationPaths(layout, id);
  await seedData(layout, id, setting);
  if (setting.user.ids !== undefined) await giveFolder(folder, setting.user.ids);
  await using data = await openFolder(folder);
  await chmod(data.path("."), LAUNCH.dataMode);
}

/** Returns the variables for a migration, which gets no sockets. */
function withoutSockets(environment: Record<string, string>): Record<string, string> {
  const { LISTEN_FDS: _fds, LISTEN_FDNAMES: _names, ...others } = environment;
  return others;
}
