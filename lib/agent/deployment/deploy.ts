import { randomUUID } from "node:crypto";
import { chmod, lstat, mkdir, rename, rm } from "node:fs/promises";
import { join, resolve as absolute } from "node:path";
import { DEFAULT_LIMITS, type Limits } from "../../artifact/limits.ts";
import { type Code, EXIT } from "../../contract/codes.ts";
import { asSealiftError, deploymentError, SealiftError } from "../../contract/errors.ts";
import type { Notifiers, Provisioners } from "../../contract/files/install-plan.ts";
import type { LocalReport, StepOutcome } from "../../contract/surfaces/reports.ts";
import { isDowngrade } from "../../contract/versions.ts";
import { linkData } from "../../releases/data-folders.ts";
import { type Journal, writeJournal } from "../../releases/journal.ts";
import { type Layout, layoutOf } from "../../releases/layout.ts";
import { acquireLock } from "../../releases/lock.ts";
import { quarantine, readQuarantine, releaseFromQuarantine } from "../../releases/quarantine.ts";
import { collectReleases, currentRelease, newReleaseName, type Release, writeRelease } from "../../releases/release.ts";
import { commitSwitch, planSwitch, switchRelease, undoDeployment } from "../../releases/switch.ts";
import { deliverReport } from "../reports/report.ts";
import type { Fetched, Resolved, Source } from "../sources/source.ts";
import { noSupervisor } from "../supervisors/none.ts";
import type { Supervisor } from "../supervisors/supervisor.ts";
import type { AgentEvent, Emit } from "./events.ts";
import { bringBack, type SupervisorChoice, undoInterrupted } from "./interrupted.ts";
import { checkSupervised, orderPlan, plannedItems, plannedSteps } from "./plan.ts";
import { runSteps, type StepContext } from "./steps.ts";

export interface DeployOptions {
  projectRoot: string;
  hostId: string;
  supervisor: SupervisorChoice;
  provisioners?: Provisioners;
  notifiers?: Notifiers;
  limits?: Limits;
  /** Key of `plugin.sig`, written for trusted plugins. */
  pluginSecretKey?: string;
  /** Releases to keep, the running one included. Default 3. */
  keepReleases?: number;
  /** Local reports to keep as files; older ones go to the archive. Default 1000. */
  keepReports?: number;
  allowDowngrade?: boolean;
  /** Installs the version once more even if it runs already. */
  reinstall?: boolean;
  /** Milliseconds to wait for another deployment on the same root. Default 10 minutes. */
  lockWaitMs?: number;
  signal?: AbortSignal;
}

export interface DeployResult {
  status: LocalReport["status"];
  /** `unchanged`: this very artifact runs already. */
  outcome: "deployed" | "unchanged" | "failed" | "rolled_back";
  version: string | null;
  previous_version: string | null;
  release: string | null;
  deployment_id: string;
  report: string | null;
  error?: SealiftError;
}

/**
 * One deployment, from any source, end to end: lock, recover, resolve, fetch and verify in one pass, plan, steps, switch, health,
 * commit or undo, report. It never throws and leaves no half-done switch: whatever goes wrong is in the result and in the reports.
 */
export async function deploy(source: Source, options: DeployOptions, listener: Emit): Promise<DeployResult> {
  return new Deployment(source, options, listener).run();
}

class Deployment {
  readonly #source: Source;
  readonly #options: DeployOptions;
  readonly #layout: Layout;
  readonly #signal: AbortSignal;
  readonly #emit: Emit;
  readonly #warnings: string[] = [];
  readonly #outcomes: StepOutcome[] = [];
  readonly #startedAt = new Date().toISOString();
  readonly #id = randomUUID();
  readonly #supervisor: Supervisor;
  #installed: readonly string[] = [];
  #resolved: Resolved | undefined;
  #running: Release | undefined;
  #fetched: Fetched | undefined;
  #receivedBytes = 0;
  #journal: Journal | undefined;

  constructor(source: Source, options: DeployOptions, listener: Emit) {
    this.#source = source;
    this.#options = options;
    this.#layout = layoutOf(absolute(options.projectRoot));
    this.#signal = options.signal ?? new AbortController().signal;
    this.#supervisor = options.supervisor.make?.(() => this.#installed) ?? noSupervisor();
    this.#emit = (event: AgentEvent) => {
      if (event.event === "warning") this.#warnings.push(event.message);
      if (event.event === "fetch.progress" || event.event === "fetch.done") this.#receivedBytes = event.bytes;
      listener(event);
    };
  }

  async run(): Promise<DeployResult> {
    const { kind, slug, requestedVersion } = this.#source;
    this.#emit({
      event: "deploy.started",
      kind,
      slug,
      requested_version: requestedVersion,
      deployment_id: this.#id,
      project_root: this.#layout.root,
    });
    let result: Pick<DeployResult, "outcome" | "release" | "error">;
    try {
      await this.#source.precheck?.(this.#options.supervisor.name);
      await mkdir(this.#layout.root, { recursive: true });
      await using _lock = await this.#lock();
      this.#emit({ event: "lock.acquired" });
      await undoInterrupted(this.#layout, this.#options.supervisor, this.#emit);
      result = await this.#deployLocked();
    } catch (thrown) {
      const error = asSealiftError(thrown);
      result = {
        outcome: error.code === "rolled_back" ? "rolled_back" : "failed",
        release: this.#running?.name ?? null,
        error,
      };
    }
    return this.#conclude(result);
  }

  #lock(): Promise<AsyncDisposable> {
    return acquireLock(this.#layout.lock, {
      waitMs: this.#options.lockWaitMs ?? 600_000,
      signal: this.#signal,
      onWaiting: (holder) => this.#emit({ event: "lock.waiting", holder }),
    });
  }

  async #deployLocked(): Promise<Pick<DeployResult, "outcome" | "release">> {
    const { target } = this.#source;
    this.#running = await currentRelease(this.#layout, target);
    this.#resolved = await this.#source.resolve({ emit: this.#emit, signal: this.#signal });
    const { version, identity } = this.#resolved;
    this.#emit({ event: "resolve.ok", version, running_version: this.#running?.version ?? null });
    if (identity !== null && this.#runs(version, identity)) {
      return { outcome: "unchanged", release: this.#running!.name };
    }
    await this.#checkVersion(version, identity);

    const journal = await this.#begin(version);
    try {
      const fetched = await this.#fetch(journal);
      if (this.#runs(version, fetched.identity)) {
        await undoDeployment(this.#layout, journal);
        return { outcome: "unchanged", release: this.#running!.name };
      }
      await this.#install(journal, fetched);
    } catch (thrown) {
      throw await this.#undo(journal, asSealiftError(thrown));
    }
    await this.#afterCommit(version);
    return { outcome: "deployed", release: journal.release };
  }

  /** True when this very artifact runs already and nobody wants it anew. */
  #runs(version: string, identity: string): boolean {
    const running = this.#running;
    return this.#options.reinstall !== true && running?.identity === identity && running.version === version;
  }

  /** A lower `latest` is not followed unasked; a version that failed before is tried again because somebody asked (docs/contract/host.md). */
  async #checkVersion(version: string, identity: string | null): Promise<void> {
    const running = this.#running?.version;
    const asked = this.#source.requestedVersion !== "latest" || this.#options.allowDowngrade === true;
    if (running !== undefined && !asked && isDowngrade(running, version)) {
      throw deploymentError(
        "downgrade_refused",
        `The latest version is ${version}, which is lower than the running ${running}.`,
        {
          hint: "Run it with --allow-downgrade, or name the version.",
        },
      );
    }
    const before = (await readQuarantine(this.#layout, this.#source.target)).find((entry) => entry.version === version);
    if (before !== undefined && (before.identity === null || before.identity === identity)) {
      this.#emit({
        event: "warning",
        message: `${version} is in quarantine (${before.reason}); trying it again because it was asked for.`,
      });
    }
  }

  /** The journal comes first: from here on a crash is undone by whoever comes next. */
  async #begin(version: string): Promise<Journal> {
    const { kind, slug, target, requestedVersion } = this.#source;
    const release = newReleaseName(version);
    this.#journal = {
      v: 1,
      phase: "staging",
      deployment_id: this.#id,
      target,
      kind,
      slug,
      host_id: this.#options.hostId,
      requested_version: requestedVersion,
      resolved_version: version,
      started_at: this.#startedAt,
      release,
      previous: this.#running?.name ?? null,
      items: [],
      previous_items: [],
      adopted: [],
      env_files: [],
      touched: [],
    };
    await mkdir(this.#layout.releases(target), { recursive: true });
    await writeJournal(this.#layout, this.#journal);
    return this.#journal;
  }

  async #fetch(journal: Journal): Promise<Fetched> {
    const staging = this.#layout.staging(journal.target, journal.release);
    await mkdir(staging, { mode: 0o700 });
    const fetched = await this.#source.fetch({
      layout: this.#layout,
      target: journal.target,
      staging,
      limits: this.#options.limits ?? DEFAULT_LIMITS,
      emit: this.#emit,
      signal: this.#signal,
    });
    this.#fetched = fetched;
    return fetched;
  }

  async #install(journal: Journal, fetched: Fetched): Promise<void> {
    const { target } = journal;
    const scope = {
      projectId: this.#source.slug,
      plugins: new Set(fetched.plugins.keys()),
      extensions: new Set(fetched.extensions.keys()),
    };
    const plan = orderPlan(fetched.plan, scope, fetched.planOrigin);
    checkSupervised(fetched.plan, this.#options.supervisor.name, fetched.planOrigin);
    await planSwitch(this.#layout, target, plannedItems(plan));
    this.#emit({ event: "verify.ok", check: "plan" });
    this.#emit({ event: "steps.planned", steps: plannedSteps(plan) });

    // Everything holds: the tree leaves staging for its final path, so that what a provisioner makes may name that path.
    const staging = this.#layout.staging(target, journal.release);
    const release = this.#layout.release(target, journal.release);
    await rename(staging, release);
    const tree = join(release, "tree");
    const context: StepContext = {
      layout: this.#layout,
      journal,
      release,
      fetched: { ...fetched, tree },
      supervisor: this.#supervisor,
      provisioners: this.#options.provisioners ?? {},
      notifiers: this.#options.notifiers ?? {},
      envFiles: new Map(),
      outcomes: this.#outcomes,
      emit: this.#emit,
      touch: async (plugin) => {
        if (journal.touched.includes(plugin)) return;
        journal.touched.push(plugin);
        await writeJournal(this.#layout, journal);
      },
      signal: this.#signal,
    };
    await runSteps(plan.fill, context);
    await this.#finishRelease(journal, context.fetched, release);
    this.#installed = journal.items.filter(({ section }) => section === "plugins").map(({ id }) => id);

    await runSteps(plan.stop, context);
    this.#signal.throwIfAborted();
    this.#emit({ event: "switch.started", release: journal.release, previous: journal.previous });
    await switchRelease(this.#layout, journal, context.envFiles);
    this.#emit({ event: "switch.done", release: journal.release });
    await runSteps(plan.after, context);
    this.#signal.throwIfAborted();

    await commitSwitch(this.#layout, journal);
    for (const prepared of context.envFiles.values()) await rm(prepared, { force: true });
    this.#emit({ event: "commit.done", release: journal.release });
  }

  /** The files that people may want to read stay with the release, the rest of the tree goes; `release.json` makes it whole. */
  async #finishRelease(journal: Journal, fetched: Fetched, release: string): Promise<void> {
    for (const name of fetched.keep) {
      const from = join(fetched.tree, name);
      if ((await lstat(from).catch(() => undefined)) !== undefined) await rename(from, join(release, name));
    }
    await rm(fetched.tree, { recursive: true, force: true });
    for (const item of journal.items) await linkData(this.#layout, item, join(release, item.section, item.id));
    if (this.#options.pluginSecretKey !== undefined) {
      const { signPlugins } = await import("./plugin-signing.ts");
      await signPlugins(release, journal.items, this.#options.pluginSecretKey);
    }
    await chmod(release, 0o755);
    await writeRelease(this.#layout, journal.target, journal.release, {
      version: this.#resolved!.version,
      identity: fetched.identity,
      items: journal.items,
      content_sha256: fetched.contentSha256,
      created_at: new Date().toISOString(),
    });
  }

  /** Back to what ran before. @returns the error to tell about: `rolled_back` where a release had been replaced */
  async #undo(journal: Journal, error: SealiftError): Promise<SealiftError> {
    const switched = journal.phase === "switching";
    const touched = switched || journal.touched.length > 0;
    if (touched) this.#emit({ event: "rollback.started", reason: error.message });
    try {
      await undoDeployment(this.#layout, journal);
      await bringBack(this.#layout, journal, this.#options.supervisor, this.#emit);
    } catch (undoing) {
      this.#emit({
        event: "warning",
        message: `Undoing the deployment met a problem: ${(undoing as Error).message}. The next run finishes it.`,
      });
    }
    if (touched) this.#emit({ event: "rollback.done", release: journal.previous });
    await this.#quarantine(journal, error, switched);
    if (!switched || journal.previous === null || error.code === "interrupted") return error;
    return deploymentError("rolled_back", `${error.message} The previous release is back.`, {
      cause: error,
      hint:
        error.hint ?? "See the report and the plugin's logs; the version stays in quarantine until a newer one comes.",
    });
  }

  /** Bytes that failed a check and versions that were rolled back stay out of the loop; hub and network errors do not (docs/contract/host.md). */
  async #quarantine(journal: Journal, error: SealiftError, switched: boolean): Promise<void> {
    const failedCheck = error.exitCode === EXIT.verification;
    if (!failedCheck && !(switched && error.code !== "interrupted")) return;
    await quarantine(this.#layout, journal.target, {
      version: journal.resolved_version ?? journal.requested_version,
      identity: this.#resolved?.identity ?? null,
      code: error.code,
      reason: error.message,
      at: new Date().toISOString(),
    });
  }

  async #afterCommit(version: string): Promise<void> {
    const { target } = this.#source;
    try {
      await releaseFromQuarantine(this.#layout, target, version);
      const removed = await collectReleases(this.#layout, target, this.#options.keepReleases ?? 3);
      if (removed.length > 0) this.#emit({ event: "collect.done", removed });
    } catch (error) {
      this.#emit({ event: "warning", message: `Old releases could not be removed: ${(error as Error).message}.` });
    }
  }

  /** The local report always, the hub's report if possible (docs/contract/agent.md, rules 6 and 7). */
  async #conclude(result: Pick<DeployResult, "outcome" | "release" | "error">): Promise<DeployResult> {
    const { error, outcome } = result;
    const status = outcome === "deployed" || outcome === "unchanged" ? "success" : outcome;
    const report: LocalReport = {
      slug: this.#source.slug,
      kind: this.#source.kind,
      status,
      requested_version: this.#source.requestedVersion,
      resolved_version: this.#resolved?.version ?? null,
      repo: this.#fetched?.repo ?? null,
      started_at: this.#startedAt,
      completed_at: new Date().toISOString(),
      error_message: error?.message.slice(0, 4000) ?? null,
      host_id: this.#options.hostId,
      deployment_id: this.#id,
      code: error === undefined ? null : causeCode(error),
      steps: this.#outcomes,
      bytes: this.#receivedBytes,
      artifact_sha256: this.#fetched?.artifactSha256 ?? null,
      warnings: this.#warnings,
    };
    const path = await deliverReport(this.#layout, this.#source, report, {
      keep: this.#options.keepReports ?? 1000,
      emit: this.#emit,
      signal: this.#signal,
    });
    return {
      status,
      outcome,
      version: this.#resolved?.version ?? null,
      previous_version: this.#running?.version ?? null,
      release: result.release,
      deployment_id: this.#id,
      report: path,
      ...(error !== undefined && { error }),
    };
  }
}

/** The code of what went wrong first: a rollback is the consequence of something. */
function causeCode(error: SealiftError): Code {
  return error.code === "rolled_back" && error.cause instanceof SealiftError ? error.cause.code : error.code;
}
