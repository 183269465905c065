import { deploymentError, type SealiftError } from "../../contract/errors.ts";
import type { LocalReport } from "../../contract/surfaces/reports.ts";
import { type TargetName, targetName } from "../../contract/target.ts";
import { damagedFile, itemDigests } from "../../releases/contents.ts";
import { readDeployed } from "../../releases/deployed.ts";
import { Journal } from "../../releases/journal.ts";
import type { Layout } from "../../releases/layout.ts";
import { heldBack, OPERATOR, quarantine, type QuarantineEntry, readQuarantine } from "../../releases/quarantine.ts";
import { currentRelease, listReleases, type Release } from "../../releases/release.ts";
import { planSwitch } from "../../releases/switch.ts";
import { traced } from "../../support/work.ts";
import type { Applications } from "../applications/descriptors.ts";
import { settingsOfApplications } from "../applications/fleet-settings.ts";
import { impliedSteps } from "../applications/steps.ts";
import type { Emit } from "../base/events.ts";
import { checkSupervised, plannedSteps } from "../base/plan.ts";
import type { Reporter } from "../base/reporter.ts";
import { sendReports, tellUnsent } from "../reports/outbox.ts";
import { admitKept, type KeptAdmission, signerRefusal } from "./admit-kept.ts";
import { requireApplications, startedBy } from "./hold-applications.ts";
import { endInterrupted } from "./interrupted.ts";
import {
  perform,
  type ReadyRelease,
  type RunOutcome,
  type RunPlan,
  switchOver,
  unchanged,
  type WalkEnd,
} from "./pipeline.ts";
import { notRestarted, rollbackSteps, stepsOf } from "./rollback-steps.ts";
import { DEPLOY_DEFAULTS, type Deployed, type DeployResult, type FewerOptions, lockRoot, type Run } from "./run.ts";

/** Target of a rollback, which fetches nothing and needs no hub unless the host has a policy. */
export interface KeptTarget extends KeptAdmission {
  kind: LocalReport["kind"];
  slug: string;
  /** Kept release or its version; by default, the newest kept release of an earlier version. */
  to?: string | undefined;
  /** Whether the hub took the running version back. Then it is not held back: the hub may offer it again. */
  isWithdrawn?: boolean;
  /** Reports to the hub, where one is known with a key. */
  reporter?: Reporter | undefined;
}

type KeptRun = Run<
  Deployed & KeptAdmission & { to: string | undefined; isWithdrawn: boolean; reporter: Reporter | undefined }
>;

/** Returns the subject of a rollback in the form of a run. */
export const keptSource = ({
  kind,
  slug,
  to,
  isWithdrawn = false,
  reporter,
  ...admission
}: KeptTarget): KeptRun["source"] => ({
  ...admission,
  kind,
  slug,
  target: targetName({ kind, slug }),
  requestedVersion: to ?? "previous",
  isRollback: true,
  isWithdrawn,
  to,
  reporter,
});

/**
 * Rolls back to a release kept on this host, with its own steps, completed for everything in which the two releases
 * differ, and with health checks. On failure the previous release is restored. Without a reporter, the next run sends
 * the report. Never throws. The version that was left is held back, so that a watch waits for a newer one, for `retry`
 * or for `resume`.
 */
export function rollback(kept: KeptTarget, options: FewerOptions, listener: Emit): Promise<DeployResult> {
  // Nothing new arrives, so nothing old is collected.
  const all = { ...DEPLOY_DEFAULTS, ...options, keepReleases: Infinity };
  return perform(keptSource(kept), all, listener, ROLLBACK);
}

export const ROLLBACK: RunPlan<KeptRun["source"]> = {
  name: "rollback",
  // A mistyped release is rejected at once, whatever else is going on.
  precheck: async (run) => void (await chooseRelease(run, undefined)),
  follow,
  afterwards: (run) => {
    const { layout, emit } = run;
    const { target, reporter } = run.source;
    if (reporter === undefined) return tellUnsent(layout, target, emit);
    return traced("report", {}, () => sendReports(layout, { target, report: reporter.report }, run));
  },
};

function follow(run: KeptRun, previous: Release | undefined): Promise<RunOutcome> {
  const { source, layout, options, emit } = run;
  return walkBack(run, previous, {
    unchanged: (running) => unchanged(run, running),
    replace: async ({ release, apps, ready }) => {
      await using _root = await lockRoot(run);
      await endInterrupted(layout, options.supervisor, emit);
      const attempt = {
        v: 1 as const,
        ...{ deployment_id: run.id, target: source.target, kind: source.kind, slug: source.slug },
        ...{ host_id: options.hostId, requested_version: source.requestedVersion, resolved_version: release.version },
        ...{ started_at: run.startedAt, release: release.name },
      };
      const journal = await Journal.begin(layout, attempt, previous?.name ?? null, { keepsRelease: true });
      const ending = await switchOver(run, journal, previous, {
        // Each release has those settings of the fleet that it declares.
        prepare: async () => ({ ...ready, settings: await settingsOfApplications(layout, source.target, apps) }),
      });
      if (!source.isWithdrawn) await holdBack(run, release, previous);
      return ending;
    },
  });
}

/** Walks the steps of a rollback before its switch: choose → check. A dry run walks them, too. */
export async function walkBack<T>(
  run: KeptRun,
  previous: Release | undefined,
  end: WalkEnd<T, { release: Release; apps: Applications; ready: ReadyRelease }>,
): Promise<T> {
  const release = await chooseRelease(run, previous);
  run.emit({ event: "resolve.ok", version: release.version, running_version: previous?.version ?? null });
  if (release.name === previous?.name) return await end.unchanged(release);
  return await end.replace({ release, ...(await readyToGoBack(run, previous, release)) });
}

/**
 * Returns the release to go back to: the one that was named, or the newest earlier one whose signer counts.
 *
 * @throws DeploymentError `no_release`; ArtifactError as {@link signerRefusal} where no earlier one has such a signer
 */
async function chooseRelease(run: KeptRun, running: Release | undefined): Promise<Release> {
  const { layout, source } = run;
  const { target, to, allowUntrustedSigner } = source;
  const releases = await listReleases(layout, target);
  if (to !== undefined) return keptRelease(releases, running, to);
  const newest = await releaseBefore(layout, target, releases, running);
  if (newest === undefined) throw noRelease("No release of an earlier version is kept.", releases);
  const refused = allowUntrustedSigner === true ? undefined : await signerRefusal(run, newest);
  if (refused === undefined) return newest;
  const found = await releaseBefore(layout, target, await signedNow(run, releases), running);
  if (found === undefined) throw refused;
  return found;
}

/** Returns the releases whose signers count now. */
async function signedNow(run: Pick<KeptRun, "layout" | "source">, releases: readonly Release[]): Promise<Release[]> {
  const refusals = await Promise.all(releases.map((release) => signerRefusal(run, release)));
  return releases.filter((_, index) => refusals[index] === undefined);
}

/**
 * Returns the release that a rollback of a target goes back to; undefined where none is kept.
 *
 * @param of target, and the signers that count
 */
export async function previousRelease(
  layout: Layout,
  of: Pick<KeptTarget, "kind" | "slug" | "trust">,
): Promise<Release | undefined> {
  const source = keptSource(of);
  const { target } = source;
  const releases = await signedNow({ layout, source }, await listReleases(layout, target));
  return releaseBefore(layout, target, releases, await currentRelease(layout, target));
}

async function releaseBefore(
  layout: Layout,
  target: TargetName,
  releases: readonly Release[],
  running: Release | undefined,
): Promise<Release | undefined> {
  const healthy = new Set(
    (await readDeployed(layout, target))?.ran.flatMap((run) => (run.healthy ? [run.release] : [])),
  );
  return earlierRelease(releases, running, await readQuarantine(layout, target), healthy);
}

/**
 * Finds a kept release by its name or its version: the running one, if it is of that version, else the newest.
 *
 * @throws DeploymentError `no_release`
 */
export function keptRelease(releases: readonly Release[], running: Release | undefined, wanted: string): Release {
  const ofVersion = running?.version === wanted ? running : releases.find(({ version }) => version === wanted);
  const found = releases.find(({ name }) => name === wanted) ?? ofVersion;
  if (found === undefined) throw noRelease(`No release ${wanted} is kept.`, releases);
  return found;
}

function noRelease(message: string, releases: readonly Release[]): SealiftError {
  const kept = releases.map(({ name, version }) => `${name} (${version})`).join(", ");
  return deploymentError("no_release", message, {
    hint:
      kept === "" ? "Deploy a version first: nothing is kept on this host." : `Kept are ${kept}. Name one with --to.`,
  });
}

/**
 * Returns the newest earlier release of another version that is not held back: of those that were healthy, if any.
 *
 * @param healthy names of releases that have passed a health check
 */
export function earlierRelease(
  releases: readonly Release[],
  running: Release | undefined,
  held: readonly QuarantineEntry[],
  healthy: ReadonlySet<string> = new Set(),
): Release | undefined {
  const earlier = releases.filter(
    ({ version, identity, created_at: at }) =>
      (running === undefined || (at < running.created_at && version !== running.version)) &&
      heldBack(held, { version, identity }) === undefined,
  );
  return earlier.find(({ name }) => healthy.has(name)) ?? earlier[0];
}

/**
 * Checks that a rollback can be carried out, before anything is changed.
 *
 * @throws DeploymentError `release_damaged`, `needs_supervisor`, `id_taken`, `app_not_allowed`, and as
 *   {@link admitKept} does
 */
async function readyToGoBack(
  run: KeptRun,
  previous: Release | undefined,
  release: Release,
): Promise<{ ready: ReadyRelease; apps: Applications }> {
  const { source, layout, options, emit, signal } = run;
  const { target } = source;
  const supervisor = options.supervisor.name;
  const folder = layout.release(target, release.name);
  const damage = await damagedFile(folder, release, false);
  if (damage !== undefined) {
    const message = `The kept release ${release.name} cannot be gone back to: ${damage}.`;
    throw deploymentError("release_damaged", message, {
      hint: "Nothing was switched. Name another kept release with --to, or deploy the version again.",
    });
  }
  await admitKept(run, previous, release);
  const { stop, after } = stepsOf(release);
  checkSupervised({ steps: [...stop, ...after] }, supervisor, "local");
  await planSwitch(layout, target, release.items);
  const { descriptorsIn } = await import("../applications/descriptors.ts");
  const apps = await descriptorsIn(folder, [...startedBy(release)]);
  await requireApplications(run, apps, previous);
  const [before, now] = await Promise.all([
    previous && itemDigests(layout.release(target, previous.name), previous),
    itemDigests(folder, release),
  ]);
  const changed = (plugin: string): boolean => {
    const digest = now.get(`plugins/${plugin}`);
    return digest === undefined || digest !== before?.get(`plugins/${plugin}`);
  };
  const idle = new Set(await options.supervisor.make?.([]).idle?.(signal));
  const own = rollbackSteps(previous, release, { changed, idle }, supervisor);
  const started = startedBy(release);
  const { servicesIn } = await import("../applications/services.ts");
  const former = previous === undefined ? [] : await servicesIn(layout.release(target, previous.name), previous.items);
  const services = (await servicesIn(folder, release.items)).filter(({ id }) => started.has(id));
  const plan = { ...own, after: [...own.after, ...impliedSteps(former, services)] };
  emit({ event: "steps.planned", steps: plannedSteps({ fill: [], ...plan }) });
  const message = supervisor === "none" ? notRestarted(previous, [...former, ...services].length > 0) : undefined;
  if (message !== undefined) emit({ event: "warning", message });
  return { ready: { items: release.items, envFiles: new Map(), plan }, apps };
}

/** Holds back the version that a person has just left, so that no watch deploys it again. */
async function holdBack({ layout, source, emit }: KeptRun, to: Release, left: Release | undefined): Promise<void> {
  if (left === undefined || left.version === to.version || left.created_at < to.created_at) return;
  const reason = `A person went back from it to ${to.version}.`;
  const { version, identity } = left;
  const at = new Date().toISOString();
  try {
    await quarantine(layout, source.target, { version, identity, code: OPERATOR, reason, at });
  } catch (error) {
    emit({ event: "warning", message: `${version} is not held back: ${(error as Error).message}.` });
  }
}
