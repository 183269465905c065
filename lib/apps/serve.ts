import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import { deploymentError, usageError } from "../contract/errors.ts";
import { APPLICATIONS_FILE } from "../contract/files/application-names.ts";
import type { ApplicationStatus, ApplicationVerb } from "../contract/surfaces/app-serve.ts";
import { readGrants, SERVE_SOCKET, serveFolder } from "../releases/applications.ts";
import { installedJobs, isSwitching } from "../releases/installed-jobs.ts";
import { JobScheduler } from "../releases/job-scheduler.ts";
import { recordedJobs } from "../releases/jobs.ts";
import type { Layout } from "../releases/layout.ts";
import { acquireLock } from "../releases/lock.ts";
import { openFolder } from "../releases/open-folder.ts";
import { findMembers, type FoundMembers } from "../support/control-groups/member-groups.ts";
import { makeFolder } from "../support/files.ts";
import { listenLocally } from "./control.ts";
import { groupOwner, markOf, rootKey } from "./environment.ts";
import type { EmitAppServe } from "./events.ts";
import { requireBoundSockets } from "./kept-sockets.ts";
import { Families } from "./kin.ts";
import { endLeftovers, markedApplications, markFile, readMark } from "./leftovers.ts";
import { ManagedApplication } from "./managed-application.ts";
import { GONE_LIMIT_MS } from "./membership.ts";
import { ServeFault } from "./serve-fault.ts";
import { ServedChecks } from "./served-checks.ts";
import { ServedJobs } from "./served-jobs.ts";

/** Applications of a project root, while they run. */
export class AppServe implements AsyncDisposable {
  readonly #layout: Layout;
  readonly #emit: EmitAppServe;
  readonly #applications = new Map<string, ManagedApplication>();
  readonly #families: Families;
  readonly #held = new AsyncDisposableStack();
  readonly #launcher: ServedJobs;
  readonly #checks: ServedChecks;
  readonly #ending = new AbortController();
  #schedule: Promise<void> | undefined;
  #scheduler: JobScheduler | undefined;
  #isEnding = false;
  #found: FoundMembers = { members: undefined, reason: "not asked yet" };

  private constructor(layout: Layout, emit: EmitAppServe) {
    this.#layout = layout;
    this.#emit = emit;
    this.#families = new Families(layout, this.#applications, (id) => this.#checks.ask(id, true));
    this.#launcher = new ServedJobs(layout, () => this.#found);
    this.#checks = new ServedChecks(
      layout,
      () => this.#found,
      (id) => this.#applications.get(id),
    );
  }

  /**
   * Starts every application that is granted and installed, and listens for agents on the root's local socket.
   *
   * @throws DeploymentError `apps_served` where another process does so already; UsageError `config_invalid`, `usage`
   */
  static async start(layout: Layout, emit: EmitAppServe): Promise<AppServe> {
    requireBoundSockets();
    const served = new AppServe(layout, emit);
    await using starting = new AsyncDisposableStack();
    starting.use(served);
    await served.#begin();
    starting.move();
    return served;
  }

  async #begin(): Promise<void> {
    const folder = serveFolder(this.#layout);
    // Its applications have to pass through the outer one.
    await makeFolder(this.#layout.sealift);
    await makeFolder(folder, 0o700);
    await chmod(folder, 0o700);
    this.#held.use(await acquireLock(join(folder, "lock"), { waitMs: 0, busy: served }));
    const ids = await this.#granted();
    this.#found = await controlGroups(this.#layout);
    // Through its open folder: the path of a deep root is longer than a socket's may be.
    const opened = this.#held.use(await openFolder(folder));
    this.#held.use(
      await listenLocally(opened.path(SERVE_SOCKET), {
        statuses: () => Promise.all([...this.#applications.values()].map((application) => application.use())),
        act: (id, verb) => this.act(id, verb),
        health: (id, isFresh) => this.#checks.ask(id, isFresh),
      }),
    );
    await this.#endOthers(ids);
    await this.#startAtFirst(ids);
    await this.#scheduled(ids);
  }

  /** Runs jobs at their times, until this ends. */
  async #scheduled(ids: readonly string[]): Promise<void> {
    await this.#launcher.clearAll([...new Set([...ids, ...(await recordedJobs(this.#layout))])]);
    const scheduler = new JobScheduler({
      ...{ layout: this.#layout, launcher: this.#launcher, emit: this.#emit, owns: () => true },
      jobs: async () => {
        const grants = (await isSwitching(this.#layout)) ? undefined : await this.#granted();
        return grants && (await installedJobs(this.#layout, grants));
      },
    });
    const warn = (message: string): void =>
      this.#emit({ event: "application.failed", id: "jobs", code: "internal", message, restart_ms: null });
    this.#scheduler = scheduler;
    this.#schedule = scheduler.run(this.#ending.signal, warn).then(async () => {
      await this.#launcher.end();
      await scheduler.settle();
    });
  }

  /** Ends what an `app serve` that was killed has left of applications that are granted no longer. */
  async #endOthers(granted: readonly string[]): Promise<void> {
    for (const id of await markedApplications(this.#layout)) {
      if (granted.includes(id)) continue;
      try {
        const file = markFile(this.#layout, id);
        const uid = (await readMark(file))?.uid;
        const membership = uid === undefined ? undefined : ({ kind: "user", uid } as const);
        await endLeftovers(file, await markOf(this.#layout.root, id), membership);
        await rm(file, { force: true });
      } catch (error) {
        const { message } = error as Error;
        this.#emit({ event: "application.failed", id, code: "start_failed", message, restart_ms: null });
      }
    }
  }

  /** Reads the grants again: starts what does not run, and stops what is granted no longer. @throws UsageError */
  async reload(): Promise<void> {
    const ids = await this.#granted();
    if (this.#isEnding) return;
    await Promise.all([
      ...[...this.#applications].filter(([id]) => !ids.includes(id)).map(([, application]) => application.stop()),
      this.#startAtFirst(ids.filter((id) => ["stopped", "failed"].includes(this.#known(id).status.state))),
    ]);
  }

  /** Starts applications, each of a family after the one that it is of. */
  async #startAtFirst(granted: readonly string[]): Promise<void> {
    const jobs = new Set((await installedJobs(this.#layout, granted)).map(({ id }) => id));
    const ids = granted.filter((id) => !jobs.has(id));
    const start = (id: string): Promise<void> => this.#known(id).startAtFirst();
    const families = Map.groupBy(ids, (id) => this.#families.headOf(id));
    await Promise.all(
      [...families].map(async ([head, members]) => {
        if (members.includes(head)) await start(head);
        await Promise.all(members.filter((id) => id !== head).map(start));
      }),
    );
  }

  statuses(): ApplicationStatus[] {
    return [...this.#applications.values()].map(({ status }) => status);
  }

  /** @throws ServeFault */
  async act(id: string, verb: ApplicationVerb): Promise<ApplicationStatus> {
    // What may not run can be stopped all the same: an earlier `app serve` may have left something of it.
    const may = verb === "stop" || this.#applications.has(id) || (await this.#granted()).includes(id);
    if (!may) throw new ServeFault("not_granted", `${APPLICATIONS_FILE} does not grant ${id}.`);
    if (this.#isEnding && verb !== "stop") throw new ServeFault("ending", "`sealift app serve` is ending.");
    const application = this.#known(id);
    await application[verb]();
    if (verb === "stop") await Promise.all([this.#launcher.endOf(id), this.#checks.endOf(id)]);
    // A deployment has jobs of its own.
    this.#scheduler?.wake();
    return application.status;
  }

  /** Ends every application, and closes all sockets. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
    this.#ending.abort();
    await this.#schedule;
    await this.#checks.end();
    await Promise.all([...this.#applications.values()].map((application) => application.close()));
    await this.#held.disposeAsync();
  }

  async #granted(): Promise<string[]> {
    const file = join(this.#layout.root, APPLICATIONS_FILE);
    const grants = await readGrants(this.#layout);
    if (grants?.supervisor === "serve") {
      this.#families.note(grants);
      return Object.keys(grants.applications);
    }
    const why = grants === undefined ? "There is no" : "systemd runs the applications of";
    throw usageError("config_invalid", `${why} ${file}.`, {
      hint: "`sealift app allow ID` grants an application, to be run by `sealift app serve`.",
    });
  }

  #known(id: string): ManagedApplication {
    const found = this.#applications.get(id);
    if (found !== undefined) return found;
    const made = new ManagedApplication(this.#layout, id, this.#emit, this.#found, this.#families.kinOf(id));
    this.#applications.set(id, made);
    return made;
  }
}

/** Returns the control groups of a root's applications: only root hands processes over to a group for good. */
export async function controlGroups({ root }: Layout): Promise<FoundMembers> {
  if (process.getuid?.() !== 0) return { members: undefined, reason: "`app serve` is not root" };
  return findMembers(groupOwner(await rootKey(root)), GONE_LIMIT_MS);
}

const served = (holder: string) =>
  deploymentError("apps_served", `The applications of this project root are run by ${holder}.`, {
    hint: "One `sealift app serve` runs all applications of a root.",
  });
