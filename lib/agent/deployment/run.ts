import { randomUUID } from "node:crypto";
import { access, constants } from "node:fs/promises";
import { resolve as absolute } from "node:path";
import { DEFAULT_LIMITS, type Limits } from "../../artifact/limits.ts";
import { INTERRUPTED } from "../../contract/blame.ts";
import { DEPLOYMENT_DEFAULTS, type DeploymentSettings } from "../../contract/deployment-defaults.ts";
import { asSealiftError, deploymentError, SealiftError } from "../../contract/errors.ts";
import type { Notifiers, Provisioners } from "../../contract/files/install-plan.ts";
import type { LocalReport } from "../../contract/surfaces/reports.ts";
import type { Settings } from "../../releases/deployed.ts";
import { type Layout, layoutOf } from "../../releases/layout.ts";
import { acquireLock } from "../../releases/lock.ts";
import { openProjectRoot } from "../../releases/project-root.ts";
import { makeFolder } from "../../support/files.ts";
import type { AgentEvent, Emit } from "../base/events.ts";
import type { Policy } from "../policy/policy-file.ts";
import { ReportDraft } from "../reports/draft.ts";
import type { Source } from "../sources/source.ts";
import type { SupervisorChoice } from "../supervisors/supervisor.ts";

/** Options of a deployment; {@link DEPLOY_DEFAULTS} has the defaults. */
export interface DeployOptions extends DeploymentSettings {
  projectRoot: string;
  hostId: string;
  supervisor: SupervisorChoice;
  /** Options to keep with the target, for a rollback: by their keys, and never a secret. */
  settings: Settings;
  provisioners: Provisioners;
  notifiers: Notifiers;
  /** Names that environment templates may take from this process; empty for every name that a plugin declares. */
  templateEnv?: readonly string[];
  limits: Limits;
  /** Key of `plugin.sig`, written for trusted plugins. */
  pluginSecretKey?: string | undefined;
  allowDowngrade?: boolean;
  /** Rules that a version must meet on this host; undefined for none. */
  policy?: Policy | undefined;
  /** Whether an operator is pinned: a version whose required settings are missing then waits for them. */
  awaitsSettings?: boolean;
  /** Lets an upgrade request more rights than the running release has. */
  acceptRights?: boolean;
  /** Installs the version again even if it already runs. */
  reinstall?: boolean;
  /** Lets root deploy into a project root that another user owns, and can change meanwhile. */
  allowForeignRoot?: boolean;
  /** Whether the report of a failed application has the last lines of its log. Default: true. */
  logInReports?: boolean;
  signal?: AbortSignal;
}

export const DEPLOY_DEFAULTS = {
  settings: {},
  provisioners: {},
  notifiers: {},
  limits: DEFAULT_LIMITS,
  ...DEPLOYMENT_DEFAULTS,
} satisfies Partial<DeployOptions>;

/** Options of runs that choose less: a rollback, a removal. */
export type FewerOptions = Omit<DeployOptions, keyof typeof DEPLOY_DEFAULTS> & Partial<DeployOptions>;

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

/** Subject of a deployment, in the form of reports. */
export type Deployed = Pick<Source, "kind" | "slug" | "target" | "requestedVersion"> & {
  /** Whether the run goes back to a kept release. */
  isRollback?: boolean;
};

/** Deployment under way: what every step is given, and none changes. */
export interface Run<S extends Deployed = Source> {
  readonly id: string;
  readonly startedAt: string;
  readonly source: S;
  readonly options: DeployOptions;
  readonly layout: Layout;
  readonly emit: Emit;
  /** Report in preparation, which receives every event. */
  readonly draft: ReportDraft;
  /** Aborted when a person or the deadline ends the deployment. */
  readonly signal: AbortSignal;
  /** Whether this is a dry run, which writes nothing to the project root. */
  readonly isTrial?: boolean;
}

/** Begins a run of a deployment, a rollback or a removal, and tells of it. */
export function beginRun<S extends Deployed>(source: S, options: DeployOptions, listener: Emit): Run<S> {
  const run = newRun(source, options, listener);
  run.emit({
    event: "deploy.started",
    kind: source.kind,
    slug: source.slug,
    requested_version: source.requestedVersion,
    deployment_id: run.id,
    project_root: run.layout.root,
    ...(source.isRollback === true && { rollback: true }),
  });
  return run;
}

/** Makes a run, of which nothing is told yet. */
export function newRun<S extends Deployed>(source: S, options: DeployOptions, listener: Emit): Run<S> {
  const layout = layoutOf(absolute(options.projectRoot), options.durability);
  const draft = new ReportDraft();
  return {
    id: randomUUID(),
    startedAt: new Date().toISOString(),
    source,
    options,
    layout,
    draft,
    signal: AbortSignal.any([AbortSignal.timeout(options.deadlineMs), ...(options.signal ? [options.signal] : [])]),
    emit: (event) => {
      draft.hear(event);
      listener(event);
    },
  };
}

/**
 * Returns the error to report for a run. An abort reaches the steps as errors of many kinds (a closed stream, a lost
 * connection): once the run was aborted, that is the reason, whatever was thrown.
 */
export function errorOf({ layout, options, signal }: Run<Deployed>, thrown: unknown): SealiftError {
  if (options.signal?.aborted) return deploymentError("interrupted", INTERRUPTED, { cause: thrown });
  if (signal.aborted) {
    return deploymentError("deadline_exceeded", `The deployment took longer than ${options.deadlineMs / 1000} s.`, {
      cause: thrown,
      hint: "Run it again, or give a longer --deadline.",
    });
  }
  const error = asSealiftError(thrown);
  if (error.code !== "disk_full") return shownError(error, layout);
  return new SealiftError(error.kind, "disk_full", `No space left on the disk of ${layout.root}.`, {
    cause: thrown,
    hint: "Free some space and run the command again.",
  });
}

/** Locks the target, waiting for other runs that deploy it. @throws DeploymentError `root_busy` */
export const lockTarget = (run: Run<Deployed>): Promise<AsyncDisposable> =>
  lockFor(run, run.layout.targetLock(run.source.target), true);

/** Locks the project root, waiting for other runs that change it. @throws DeploymentError `root_busy` */
export const lockRoot = (run: Run<Deployed>): Promise<AsyncDisposable> => lockFor(run, run.layout.lock, false);

async function lockFor(
  { options, signal, emit }: Run<Deployed>,
  path: string,
  always: boolean,
): Promise<AsyncDisposable> {
  let waited = always;
  const lock = await acquireLock(path, {
    waitMs: options.lockWaitMs,
    signal,
    onWaiting: (holder) => {
      waited = true;
      emit({ event: "lock.waiting", holder });
    },
  });
  if (waited) emit({ event: "lock.acquired" });
  return lock;
}

/** Ends a run whose project root cannot be used: nothing is written there, not even a report. */
export const refused = (run: Run<Deployed>, thrown: unknown) => ({
  outcome: "failed" as const,
  release: null,
  report: null,
  previous: undefined,
  error: errorOf(run, thrown),
});

/** Run whose project root is open, and may be written until the run is disposed of. */
export type OpenedRun<S extends Deployed = Source> = Run<S> & AsyncDisposable;

/**
 * Opens the project root of a run ({@link openProjectRoot}), before anything is written there.
 *
 * @throws DeploymentError `root_foreign`, `root_unusable`
 */
export async function openRoot<S extends Deployed>(begun: Run<S>): Promise<OpenedRun<S>> {
  await usableFolder(begun.layout.root);
  const { layout, ...root } = await openProjectRoot(begun.layout, begun.options);
  if (layout === begun.layout) {
    await usableFolder(layout.sealift);
    return { ...begun, ...root };
  }
  return { ...begun, ...root, layout, emit: (event) => begun.emit(shownIn(event, layout)) };
}

/** File system errors that last until a person acts; a full disk may pass. */
const UNUSABLE = new Set(["ENOENT", "ENOTDIR", "EEXIST", "EACCES", "EPERM", "EROFS", "ELOOP", "ENAMETOOLONG"]);

/** Makes a folder of the project root, and sees whether it can be written. @throws DeploymentError `root_unusable` */
async function usableFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder);
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!UNUSABLE.has(code ?? "")) throw error;
    throw deploymentError("root_unusable", `The project root cannot be made or written: ${message}.`, {
      cause: error,
      hint: "Name another one with --project-root, or let this user write there.",
    });
  }
}

/** Returns an event for people, with names of folders instead of paths through file descriptors. */
function shownIn(event: AgentEvent, layout: Layout): AgentEvent {
  return JSON.parse(JSON.stringify(event), (_key, value: unknown) =>
    typeof value === "string" ? layout.shown(value) : value,
  ) as AgentEvent;
}

function shownError(error: SealiftError, layout: Layout): SealiftError {
  const { kind, code, message, hint } = error;
  if (layout.shown(`${message} ${hint}`) === `${message} ${hint}`) return error;
  return new SealiftError(kind, code, layout.shown(message), {
    ...error,
    cause: error,
    ...(hint !== undefined && { hint: layout.shown(hint) }),
  });
}
