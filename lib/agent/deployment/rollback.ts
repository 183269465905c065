import { deploymentError, type SealiftError } from "../../contract/errors.ts";
import type { LocalReport } from "../../contract/surfaces/reports.ts";
import { targetName } from "../../contract/target.ts";
import { Journal } from "../../releases/journal.ts";
import { OPERATOR, quarantine } from "../../releases/quarantine.ts";
import { currentRelease, listReleases, type Release, runningVersion } from "../../releases/release.ts";
import { switchRelease } from "../../releases/switch.ts";
import { reportOf } from "../reports/draft.ts";
import { recordReport } from "../reports/report.ts";
import { noSupervisor } from "../supervisors/none.ts";
import type { Emit } from "./events.ts";
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
import { healthcheck, tellStep } from "./steps.ts";
import { undo } from "./undo.ts";

/** The target of a rollback: nothing is resolved or fetched, and no hub is asked. */
export interface KeptTarget {
  kind: LocalReport["kind"];
  slug: string;
  /** A kept release or its version; without one, the release that ran before. */
  to?: string | undefined;
}

type KeptRun = Run<{
  kind: LocalReport["kind"];
  slug: string;
  target: `${LocalReport["kind"]}-${string}`;
  requestedVersion: string;
}>;

/** Seconds that one check of a unit may take after a rollback, and how often a failed one is tried again. */
const CHECK_SECONDS = 30;
const CHECK_RETRIES = 3;

/**
 * Goes back to a release that is kept on this host: one switch, restarts, health checks, and a report that the next run
 * sends. When the kept release does not work, what ran before is brought back. It never throws. The version that was
 * left is held back, so that a watch waits for a newer one, for `retry` or for `resume`.
 */
export async function rollback(
  { kind, slug, to }: KeptTarget,
  options: DeployOptions,
  listener: Emit,
): Promise<DeployResult> {
  const run = beginRun(
    { kind, slug, target: targetName({ kind, slug }), requestedVersion: to ?? "previous", isRollback: true },
    options,
    listener,
  );
  const { previous, ...result } = await inRoot(run, to).catch((thrown: unknown) => refused(run, thrown));
  return {
    status: result.outcome === "failed" || result.outcome === "rolled_back" ? result.outcome : "success",
    version: run.draft.version,
    previous_version: previous?.version ?? null,
    deployment_id: run.id,
    ...result,
  };
}

type Ending = Pick<DeployResult, "outcome" | "release" | "report" | "error"> & { previous: Release | undefined };

/** @throws DeploymentError `root_foreign`, `root_unusable`, and the file system's errors */
async function inRoot(begun: KeptRun, to: string | undefined): Promise<Ending> {
  await using run = await openRoot(begun);
  return await goBack(run, to).catch(async (thrown: unknown) => failed(run, errorOf(run, thrown), undefined));
}

/** @throws what goes wrong before it is known what runs */
async function goBack(run: KeptRun, to: string | undefined): Promise<Ending> {
  const { source, layout, options, emit } = run;
  await using _turn = await lockTarget(run);
  await recover(run);
  const previous = await currentRelease(layout, source.target);
  try {
    const release = chosen(await listReleases(layout, source.target), previous, to);
    emit({ event: "resolve.ok", version: release.version, running_version: previous?.version ?? null });
    if (release.name === previous?.name) {
      const report = await recordReport(run, reportOf(run, { status: "success", running: release.version }), true);
      return { outcome: "unchanged", release: release.name, report, previous };
    }
    await using _root = await lockRoot(run);
    await endInterrupted(layout, options.supervisor, emit);
    return await switchTo(run, release, previous);
  } catch (thrown) {
    return await failed(run, errorOf(run, thrown), previous);
  }
}

/** The release to go back to. @throws DeploymentError `no_release` */
export function chosen(releases: readonly Release[], running: Release | undefined, to: string | undefined): Release {
  const kept = releases.map(({ name, version }) => `${name} (${version})`).join(", ");
  const found =
    to === undefined
      ? releases.find(({ created_at: at }) => running === undefined || at < running.created_at)
      : (releases.find(({ name }) => name === to) ?? releases.find(({ version }) => version === to));
  if (found !== undefined) return found;
  throw deploymentError(
    "no_release",
    to === undefined ? "No release from before the running one is kept." : `No release ${to} is kept.`,
    { hint: kept === "" ? "Nothing is kept on this host." : `Kept are ${kept}.` },
  );
}

async function switchTo(run: KeptRun, release: Release, previous: Release | undefined): Promise<Ending> {
  const { source, layout, options, emit, signal } = run;
  const attempt = {
    v: 1 as const,
    ...{ deployment_id: run.id, target: source.target, kind: source.kind, slug: source.slug },
    ...{ host_id: options.hostId, requested_version: source.requestedVersion, resolved_version: release.version },
    ...{ started_at: run.startedAt, release: release.name },
  };
  const journal = await Journal.begin(layout, attempt, previous?.name ?? null, { keepsRelease: true });
  try {
    signal.throwIfAborted();
    emit({ event: "switch.started", release: release.name, previous: previous?.name ?? null });
    await switchRelease(journal, { items: release.items, envFiles: new Map() });
    emit({ event: "switch.done", release: release.name });
    await bringUp(run, journal, release, previous);
    signal.throwIfAborted();
  } catch (thrown) {
    throw await undo(run, journal, errorOf(run, thrown));
  }
  const report = await settle(run, journal);
  await holdBack(run, release, previous);
  return { outcome: "deployed", release: release.name, report, previous };
}

const pluginsOf = ({ items }: Release): string[] =>
  items.filter(({ section }) => section === "plugins").map(({ id }) => id);

/**
 * Restarts and checks the units that the release's plan had restarted, and stops those that only the release before
 * had.
 */
async function bringUp(
  { options, emit, signal }: KeptRun,
  journal: Journal,
  release: Release,
  previous: Release | undefined,
): Promise<void> {
  if (options.supervisor.name === "none") return;
  const supervisor = options.supervisor.make?.(pluginsOf(release)) ?? noSupervisor();
  const unitsOf = (of: Release): readonly (string | null)[] => of.units ?? pluginsOf(of);
  const units = unitsOf(release);
  const act = async (action: "stop" | "restart", unit: string | null): Promise<void> => {
    const step = { id: `${action}-${unit ?? "project"}`, action, ...(unit !== null && { plugin: unit }) };
    await tellStep({ ...step, depends_on: [], snapshot: false }, emit, async () => {
      await journal.touch(unit);
      await supervisor[action](unit, signal);
    });
  };
  const left = previous === undefined ? [] : unitsOf(previous).filter((unit) => !units.includes(unit));
  for (const unit of left) await act("stop", unit);
  for (const unit of units) await act("restart", unit);
  for (const unit of units) {
    const step = {
      id: `check-${unit ?? "project"}`,
      ...{
        action: "healthcheck" as const,
        timeout: CHECK_SECONDS,
        retries: CHECK_RETRIES,
        depends_on: [],
        snapshot: false,
      },
      ...(unit !== null && { plugin: unit }),
    };
    await tellStep(step, emit, () => healthcheck(step, { supervisor, emit, signal }));
  }
}

/** A watch must not take back at once what a person has left. */
async function holdBack({ layout, source, emit }: KeptRun, to: Release, left: Release | undefined): Promise<void> {
  if (left === undefined || left.version === to.version || left.created_at < to.created_at) return;
  const reason = `A person went back from it to ${to.version}.`;
  const { version, identity } = left;
  try {
    await quarantine(layout, source.target, {
      version,
      identity,
      code: OPERATOR,
      reason,
      at: new Date().toISOString(),
    });
  } catch (error) {
    emit({ event: "warning", message: `${version} is not held back: ${(error as Error).message}.` });
  }
}

async function failed(run: KeptRun, error: SealiftError, previous: Release | undefined): Promise<Ending> {
  const outcome = error.code === "rolled_back" ? "rolled_back" : "failed";
  const running = await runningVersion(run.layout, run.source.target);
  const report = await recordReport(run, reportOf(run, { status: outcome, error, running }), false);
  return { outcome, release: previous?.name ?? null, report, previous, error };
}
