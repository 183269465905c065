import { EXIT } from "../../contract/codes.ts";
import type { SealiftError } from "../../contract/errors.ts";
import type { LocalReport } from "../../contract/surfaces/reports.ts";
import { forgetConsent } from "../../releases/consent.ts";
import { rememberDeployed } from "../../releases/deployed.ts";
import { writeStanding } from "../../releases/health.ts";
import { forgetHeld } from "../../releases/holds.ts";
import type { Journal } from "../../releases/journal.ts";
import { keptData } from "../../releases/kept-data.ts";
import { releaseFromQuarantine } from "../../releases/quarantine.ts";
import {
  collectReleases,
  currentRelease,
  type Release,
  replaceableRelease,
  runningOf,
  whatRuns,
} from "../../releases/release.ts";
import { finishSwitch, type NewRelease, switchRelease } from "../../releases/switch.ts";
import { traced } from "../../support/work.ts";
import { releasesInUse } from "../applications/in-use.ts";
import { applicationsToReport } from "../applications/to-report.ts";
import type { Emit } from "../base/events.ts";
import type { OrderedPlan } from "../base/plan.ts";
import { reportOf } from "../reports/draft.ts";
import { recordReport, reportName } from "../reports/report.ts";
import { askBack, errorOfBack, GoneBack, reportOfBack } from "./ask-back.ts";
import { recover } from "./interrupted.ts";
import {
  beginRun,
  type Deployed,
  type DeployOptions,
  type DeployResult,
  errorOf,
  lockTarget,
  type OpenedRun,
  openRoot,
  refused,
  type Run,
} from "./run.ts";
import { runSteps } from "./steps.ts";
import { blamed, checkSupervisor, supervisorOfRelease } from "./supervision.ts";
import { undo } from "./undo.ts";

/** Outcome of a run: what runs now, what ran before, and where the report is. */
export type RunOutcome = Pick<DeployResult, "outcome" | "release" | "report" | "error"> & {
  previous: Release | undefined;
};

/** Complete release that is not linked yet, and the steps around the switch to it. */
export interface ReadyRelease extends NewRelease {
  plan: Pick<OrderedPlan, "stop" | "after">;
}

/** Continuation after the steps before a switch: a real run switches, a dry run reports. */
export interface WalkEnd<T, Found> {
  /** Ends a walk that found its version running already. */
  unchanged(running: Release): Promise<T>;
  /** Continues with replacing the running release. */
  replace(found: Found): Promise<T>;
}

/** Parts of a run that differ between a deployment and a rollback. */
export interface RunPlan<S extends Deployed> {
  name: "deploy" | "rollback";
  /** Rejects what can be rejected before anything is locked. */
  precheck(run: Run<S>): Promise<void>;
  /** Finds the release to switch to, and switches. Takes or holds both locks. */
  follow(run: Run<S>, previous: Release | undefined): Promise<RunOutcome>;
  /** Work done after the target's lock is released. */
  afterwards?(run: Run<S>): Promise<void>;
}

/**
 * Performs one run from start to end. Never throws and leaves no half-done switch: whatever goes wrong is in the result
 * and in the reports.
 */
export function perform<S extends Deployed>(
  source: S,
  options: DeployOptions,
  listener: Emit,
  course: RunPlan<S>,
): Promise<DeployResult> {
  return traced(course.name, { "sealift.target": source.target }, async (span) => {
    const run = beginRun(source, options, listener);
    const ended = await inRoot(run, course).catch((thrown: unknown) => refused(run, thrown));
    const { previous, error, ...ending } = ended as RunOutcome;
    const { version } = run.draft;
    span.set({ "sealift.deployment_id": run.id, "sealift.outcome": ending.outcome, "sealift.version": version ?? "" });
    if (error !== undefined) span.fail(error.code);
    return {
      status: ending.outcome === "deployed" || ending.outcome === "unchanged" ? "success" : ending.outcome,
      version,
      previous_version: previous?.version ?? null,
      deployment_id: run.id,
      ...ending,
      ...(error !== undefined && { error }),
    };
  });
}

/**
 * Performs a run in its opened project root. @throws DeploymentError `root_foreign`, `root_unusable`, and the file
 * system's errors
 */
async function inRoot<S extends Deployed>(begun: Run<S>, course: RunPlan<S>): Promise<RunOutcome> {
  await using run: OpenedRun<S> = await openRoot(begun);
  const ending = await carryOut(run, course).catch((thrown: unknown) =>
    failed(run, thrown, { previous: undefined, locked: false }),
  );
  await course.afterwards?.(run);
  return ending;
}

/** Rejects what can be rejected before anything is locked or changed. A dry run starts with it, too. */
export async function refuseEarly<S extends Deployed>(run: Run<S>, course: RunPlan<S>): Promise<void> {
  await course.precheck(run);
  await checkSupervisor(run);
}

/** Carries out a run. @throws errors that occur before the running release is known */
async function carryOut<S extends Deployed>(run: Run<S>, course: RunPlan<S>): Promise<RunOutcome> {
  await refuseEarly(run, course);
  await using _turn = await lockTarget(run);
  await recover(run);
  const previous = await replaceableRelease(run.layout, run.source.target);
  try {
    return await course.follow(run, previous);
  } catch (thrown) {
    return await failed(run, thrown, { previous, locked: true });
  }
}

/** Ends a run whose version runs already. */
export async function unchanged(run: Run<Deployed>, previous: Release): Promise<RunOutcome> {
  const report = await recordReport(run, reportOf(run, { status: "success", running: runningOf(previous) }), true);
  return { outcome: "unchanged", release: previous.name, report, previous };
}

async function failed(
  run: Run<Deployed>,
  thrown: unknown,
  { previous, locked }: { previous: Release | undefined; locked: boolean },
): Promise<RunOutcome> {
  if (thrown instanceof GoneBack) return wentBack(run, thrown, previous);
  const error = errorOf(run, thrown);
  const ending = { outcome: "failed", release: previous?.name ?? null, previous, error } as const;
  if (wasNeverBegun(run, error) || run.draft.isRepeated) return { ...ending, report: null };
  const running = await whatRuns(run.layout, run.source.target);
  const report = await recordReport(run, reportOf(run, { status: "failed", error, running }), locked);
  return { ...ending, report };
}

/** Ends a run that went back: what is back is asked, and the report says so. Requires the target's lock alone. */
async function wentBack(run: Run<Deployed>, gone: GoneBack, previous: Release | undefined): Promise<RunOutcome> {
  const { layout, source } = run;
  // A folder that was installed by hand has become a release in this run.
  const present = await currentRelease(layout, source.target);
  const back = await traced("ask", {}, () => askBack(run, gone, present));
  const told = await reportOfBack(run, gone, back);
  if (back.state === "silent" && present !== undefined) await noteSilence(run, present, back.units, told);
  const report = await recordReport(run, told, true);
  const error = errorOfBack(gone, back);
  return { outcome: "rolled_back", release: previous?.name ?? null, report, previous, error };
}

/** Notes that a release that was gone back to does not work, as a watch does that finds it so. Best effort. */
async function noteSilence(
  { layout, source, emit }: Run<Deployed>,
  { name: release }: Release,
  units: Readonly<Record<string, string>>,
  report: LocalReport,
): Promise<void> {
  const { completed_at: at } = report;
  const told = { state: "unhealthy" as const, at, report: reportName(report) };
  const standing = { ...{ v: 1 as const, release, state: "unhealthy" as const, since: at }, units, told };
  await writeStanding(layout, source.target, standing).catch((error: Error) =>
    emit({ event: "warning", message: `The health could not be noted: ${error.message}.` }),
  );
}

/** True for a rollback with mistyped arguments, of which the hub need not hear. */
const wasNeverBegun = ({ source }: Run<Deployed>, { code, exitCode }: SealiftError): boolean =>
  source.isRollback === true && (code === "no_release" || exitCode === EXIT.usage);

/**
 * Switches to a release, runs the steps around the switch, and commits. Any failure is undone. Requires both locks.
 *
 * @param prepare makes the release ready
 * @param condemn judges the version by the error. `switched`: whether the release was current then
 * @throws the error to report, or GoneBack
 */
export async function switchOver(
  run: Run<Deployed>,
  journal: Journal,
  previous: Release | undefined,
  {
    prepare,
    condemn,
  }: { prepare: () => Promise<ReadyRelease>; condemn?: (error: SealiftError, switched: boolean) => Promise<void> },
): Promise<RunOutcome> {
  let report: LocalReport;
  try {
    const ready = await prepare();
    await replace(run, journal, ready);
    report = await traced("commit", {}, () => commit(run, journal, ready));
  } catch (thrown) {
    const error = await blamed(run, errorOf(run, thrown), journal.entry.touched);
    throw await traced("undo", {}, () => undo(run, journal, error, condemn));
  }
  const path = await traced("settle", {}, () => settle(run, journal, report));
  return { outcome: "deployed", release: journal.entry.release, report: path, previous };
}

async function replace(run: Run<Deployed>, journal: Journal, ready: ReadyRelease): Promise<void> {
  const { emit, signal, options } = run;
  const { release, previous } = journal.entry;
  const supervisor = supervisorOfRelease(run, release, ready.items);
  const context = { journal, supervisor, notifiers: options.notifiers, emit, signal };
  await runSteps(ready.plan.stop, context);
  signal.throwIfAborted();
  emit({ event: "switch.started", release, previous });
  for (const path of await traced("switch", {}, () => switchRelease(journal, ready)))
    emit({ event: "warning", message: `${path} was left out: a file of the plugin stands in its place.` });
  emit({ event: "switch.done", release });
  const kept: string[] = [];
  for (const item of ready.items) kept.push(...(await keptData(run.layout, journal.entry, item)));
  for (const message of keptNotes(kept)) emit({ event: "warning", message });
  await runSteps(ready.plan.after, context);
  signal.throwIfAborted();
}

/** Most files that a message names. */
const NAMED = 5;

/** Describes files that a release ships as data, and of which the host keeps others. */
function keptNotes(kept: readonly string[]): string[] {
  if (kept.length === 0) return [];
  const more = kept.length > NAMED ? ` and ${kept.length - NAMED} more` : "";
  return [`The host keeps its own ${kept.slice(0, NAMED).join(", ")}${more}: what this version ships there is seed.`];
}

/** Commits a switch. @returns the report, which the journal holds until it is written */
async function commit(run: Run<Deployed>, journal: Journal, { plan, items }: ReadyRelease): Promise<LocalReport> {
  const { layout, options, emit } = run;
  const { release, target, resolved_version: version } = journal.entry;
  const running = (await whatRuns(layout, target)) ?? { version, signer: undefined };
  const told = await applicationsToReport(layout, items, options.supervisor);
  const report = { ...reportOf(run, { status: "success", running }), ...told };
  try {
    const healthy = plan.after.some(({ action }) => action === "healthcheck");
    await rememberDeployed(layout, target, { version: version!, release, settings: options.settings, healthy });
  } catch (error) {
    emit({ event: "warning", message: `The settings of this deployment are not kept: ${(error as Error).message}.` });
  }
  await journal.note({ phase: "committed", report });
  emit({ event: "commit.done", release });
  return report;
}

/**
 * Cleans up after a committed switch. The journal is removed once the report is written, so that a kill in between
 * loses neither.
 *
 * @returns the report's path, or null when it could not be written
 */
async function settle(run: Run<Deployed>, journal: Journal, report: LocalReport): Promise<string | null> {
  const { layout, options, emit } = run;
  const { target, resolved_version: version } = journal.entry;
  await finishSwitch(journal);
  const path = await recordReport(run, report, true);
  await journal.clear();
  try {
    await releaseFromQuarantine(layout, target, version!);
    await forgetHeld(layout, target, "rights");
    await forgetConsent(layout, target);
    const inUse = await releasesInUse(layout, target, options.supervisor.systemdScope);
    const removed = await collectReleases(layout, target, options.keepReleases, inUse);
    if (removed.length > 0) emit({ event: "collect.done", removed });
  } catch (error) {
    emit({ event: "warning", message: `Old releases could not be removed: ${(error as Error).message}.` });
  }
  return path;
}
