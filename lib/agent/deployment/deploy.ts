import type { SealiftError } from "../../contract/errors.ts";
import { Journal } from "../../releases/journal.ts";
import { condemns, quarantine } from "../../releases/quarantine.ts";
import { currentRelease, type Release, runningVersion } from "../../releases/release.ts";
import { switchRelease } from "../../releases/switch.ts";
import { traced } from "../../support/tracing/tracing.ts";
import { reportOf } from "../reports/draft.ts";
import { sendReports } from "../reports/outbox.ts";
import { recordReport } from "../reports/report.ts";
import type { Resolved, Source } from "../sources/source.ts";
import { admit, alreadyRuns } from "./admit.ts";
import type { Emit } from "./events.ts";
import { install } from "./install.ts";
import { endInterrupted, recover } from "./interrupted.ts";
import {
  beginRun,
  type DeployOptions,
  type DeployResult,
  errorOf,
  lockRoot,
  lockTarget,
  openRoot,
  refused,
  type Run,
} from "./run.ts";
import { settle } from "./settle.ts";
import { stage, type Staged } from "./stage.ts";
import { runSteps } from "./steps.ts";
import { blamed, checkSupervisor } from "./supervision.ts";
import { undo } from "./undo.ts";

/** The end of a run: what runs now, what ran before, and where the report is. */
type Ending = Pick<DeployResult, "outcome" | "release" | "report" | "error"> & { previous: Release | undefined };

/**
 * One deployment, from any source, end to end: resolve → admit → stage → install → switch → settle
 * (docs/contract/agent.md). It never throws and leaves no half-done switch: whatever goes wrong is in the result and in
 * the reports.
 */
export function deploy(source: Source, options: DeployOptions, listener: Emit): Promise<DeployResult> {
  return traced("deploy", { "sealift.target": source.target }, async (span) => {
    const result = await deployOnce(source, options, listener);
    const { deployment_id: deploymentId, outcome, version, error } = result;
    span.set({ "sealift.deployment_id": deploymentId, "sealift.outcome": outcome, "sealift.version": version ?? "" });
    if (error !== undefined) span.fail(error.code);
    return result;
  });
}

async function deployOnce(source: Source, options: DeployOptions, listener: Emit): Promise<DeployResult> {
  const run = beginRun(source, options, listener);
  const { previous, error, ...ending } = await inRoot(run).catch((thrown: unknown) => refused(run, thrown));
  return {
    status: ending.outcome === "deployed" || ending.outcome === "unchanged" ? "success" : ending.outcome,
    version: run.draft.version,
    previous_version: previous?.version ?? null,
    deployment_id: run.id,
    ...ending,
    ...(error !== undefined && { error }),
  };
}

/** @throws DeploymentError `root_foreign`, `root_unusable`, and the file system's errors */
async function inRoot(begun: Run): Promise<Ending> {
  await using run = await openRoot(begun);
  const ending = await carryOut(run).catch((thrown: unknown) =>
    failed(run, thrown, { previous: undefined, locked: false }),
  );
  await traced("report", {}, () => sendReports(run.layout, run.source, run));
  return ending;
}

/** @throws what goes wrong before it is known what runs */
async function carryOut(run: Run): Promise<Ending> {
  const { source, layout, options } = run;
  await source.precheck?.(options.supervisor.name);
  await checkSupervisor(run);
  await using _turn = await lockTarget(run);
  await recover(run);
  const previous = await currentRelease(layout, source.target);
  try {
    return await follow(run, previous);
  } catch (thrown) {
    return await failed(run, thrown, { previous, locked: true });
  }
}

async function follow(run: Run, previous: Release | undefined): Promise<Ending> {
  const { source, layout, options, emit, signal } = run;
  const resolved = await traced("resolve", {}, () => source.resolve({ emit, signal }));
  emit({ event: "resolve.ok", version: resolved.version, running_version: previous?.version ?? null });
  const running = await alreadyRuns(run, previous, resolved);
  if (running !== undefined) return unchanged(run, running);
  const admitted = await traced("admit", {}, () => admit(run, resolved, previous));
  await using staged = await traced("stage", {}, () => stage(run, admitted)).catch(async (thrown: unknown) => {
    await condemn(run, resolved, errorOf(run, thrown), false);
    throw thrown;
  });
  await staged.fetched.rememberSigner?.();
  // Some hubs name no identity before the download.
  const same = await alreadyRuns(run, previous, { version: resolved.version, identity: staged.fetched.identity });
  if (same !== undefined) return await unchanged(run, same);
  await using _root = await lockRoot(run);
  await endInterrupted(layout, options.supervisor, emit);
  const journal = await Journal.begin(layout, staged.attempt, previous?.name ?? null);
  try {
    await replace(run, staged, journal, previous);
  } catch (thrown) {
    const error = await blamed(run, errorOf(run, thrown));
    const told = await traced("undo", {}, () => undo(run, journal, error));
    await condemn(run, resolved, error, journal.entry.phase === "switching");
    throw told;
  }
  const { release } = journal.entry;
  return { outcome: "deployed", release, report: await traced("settle", {}, () => settle(run, journal)), previous };
}

/** From a verified tree to a healthy release. What is thrown here is undone. */
async function replace(run: Run, staged: Staged, journal: Journal, running: Release | undefined): Promise<void> {
  const { emit, signal } = run;
  const installed = await traced("install", {}, () => install(run, staged, journal, running));
  await runSteps(installed.plan.stop, installed.steps);
  signal.throwIfAborted();
  const { release, previous } = journal.entry;
  emit({ event: "switch.started", release, previous });
  for (const path of await traced("switch", {}, () => switchRelease(journal, installed)))
    emit({ event: "warning", message: `${path} was left out: a file of the plugin stands in its place.` });
  emit({ event: "switch.done", release });
  await runSteps(installed.plan.after, installed.steps);
  signal.throwIfAborted();
}

async function unchanged(run: Run, previous: Release): Promise<Ending> {
  const report = await recordReport(run, reportOf(run, { status: "success", running: previous.version }), true);
  return { outcome: "unchanged", release: previous.name, report, previous };
}

async function failed(
  run: Run,
  thrown: unknown,
  { previous, locked }: { previous: Release | undefined; locked: boolean },
): Promise<Ending> {
  const error = errorOf(run, thrown);
  const outcome = error.code === "rolled_back" ? "rolled_back" : "failed";
  const running = await runningVersion(run.layout, run.source.target);
  const facts = reportOf(run, { status: outcome, error, running });
  const report = await recordReport(run, facts, locked);
  return { outcome, release: previous?.name ?? null, report, previous, error };
}

/** Puts a version into quarantine for what it has done wrong itself. */
async function condemn(
  run: Run,
  { version, identity }: Resolved,
  error: SealiftError,
  switched: boolean,
): Promise<void> {
  if (!condemns(error, switched)) return;
  const { code, message: reason } = error;
  const at = new Date().toISOString();
  await quarantine(run.layout, run.source.target, { version, identity, code, reason, at });
}
