import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { deploymentError } from "../../contract/errors.ts";
import { APPLICATIONS_FOLDER } from "../../contract/files/application-names.ts";
import type { LocalReport } from "../../contract/surfaces/reports.ts";
import { type TargetName, targetName } from "../../contract/target.ts";
import { dropAhead } from "../../releases/ahead.ts";
import { fleetSettingsName } from "../../releases/fleet-settings.ts";
import { HOLD_CAUSES, holdFile } from "../../releases/holds.ts";
import { forgetJob, runningJobs } from "../../releases/jobs.ts";
import { isApplication, type Item, type Layout } from "../../releases/layout.ts";
import { removeOwnLink, syncLinks } from "../../releases/links.ts";
import { unitKey } from "../../releases/names.ts";
import { removeTree } from "../../releases/open-folder.ts";
import { dropPartial, hasPartial } from "../../releases/partial.ts";
import { currentRelease, isAdopted, listReleases, namedUnits, removeRelease } from "../../releases/release.ts";
import { ifThere } from "../../support/files.ts";
import { releasesTypedIn } from "../applications/in-use.ts";
import type { Emit } from "../base/events.ts";
import type { SupervisorChoice } from "../supervisors/supervisor.ts";
import { endInterrupted, recover } from "./interrupted.ts";
import {
  beginRun,
  DEPLOY_DEFAULTS,
  type Deployed,
  type FewerOptions,
  lockRoot,
  lockTarget,
  openRoot,
  type Run,
} from "./run.ts";
import { checkSupervisor, pluginsAmong, supervisorOf } from "./supervision.ts";

/** Target to remove from this host. */
export interface RemovedTarget {
  kind: LocalReport["kind"];
  slug: string;
  /** Whether to remove its data, environment files, trusted signer and reports, too. */
  purge: boolean;
}

/** Version that ran, null when none did, and number of releases removed. */
export interface Removal {
  version: string | null;
  releases: number;
}

/** Preview of a removal. */
export interface RemovalPreview extends Removal {
  /** Plugins and other units; null is the project's own unit. */
  units: readonly (string | null)[];
  /** Releases, and with `purge` everything that the host itself has written: absolute paths. */
  paths: readonly string[];
}

/** Returns the parts of a target that a removal would affect, as of now. */
async function partsOf(layout: Layout, { kind, slug, purge }: RemovedTarget, supervisor: SupervisorChoice) {
  const target = targetName({ kind, slug });
  const running = await currentRelease(layout, target);
  const releases = await listReleases(layout, target);
  const items = [running, ...releases].flatMap((release): readonly Item[] => release?.items ?? []);
  const plugins = [...new Set(pluginsAmong(items))];
  const supervised = supervisor.name === "runtime" || running?.steps === undefined ? plugins : namedUnits(running);
  const apps = running === undefined || isAdopted(running) ? [] : running.items.filter(isApplication).map(unitKey);
  return {
    running,
    releases,
    items,
    units: [...(running === undefined || supervisor.name === "none" ? [] : supervised), ...apps],
    kept: purge
      ? [
          ...items.map((item) => layout.data(item)),
          ...items.filter(({ section }) => section !== "extensions").map((item) => layout.envFile(item)),
          ...[".pub", ".proof"].map((end) => layout.trust(target).replace(/\.pub$/, end)),
          layout.roots(target),
          layout.reports(target),
          layout.outbox(target),
        ]
      : [],
  };
}

/** Returns the places of bytes that were fetched and run nowhere yet, as far as they would be removed. */
const fetchedOf = async (layout: Layout, target: TargetName): Promise<string[]> => [
  layout.ahead(target),
  ...((await hasPartial(layout, target)) ? [layout.partial(target)] : []),
];

/** Previews {@link removeTarget} without any change. */
export async function previewRemoval(
  layout: Layout,
  removed: RemovedTarget,
  supervisor: SupervisorChoice,
): Promise<RemovalPreview> {
  const { running, releases, units, kept } = await partsOf(layout, removed, supervisor);
  const own = releases.map(({ name }) => layout.release(targetName(removed), name));
  const fetched = await fetchedOf(layout, targetName(removed));
  return {
    version: running?.version ?? null,
    releases: releases.length,
    units,
    paths: [...own, ...fetched, ...new Set(kept)].filter((path) => existsSync(path)),
  };
}

/**
 * Removes a target from this host: stops its units, removes its links, then its releases. Keeps what the host itself
 * has written, unless it is purged. The next removal completes an interrupted one.
 *
 * @throws DeploymentError before anything is removed when a unit cannot be stopped or the target is busy
 */
export async function removeTarget(removed: RemovedTarget, options: FewerOptions, listener: Emit): Promise<Removal> {
  const { kind, slug } = removed;
  const target = targetName({ kind, slug });
  const quiet: Emit = (event) => {
    if (event.event !== "deploy.started") listener(event);
  };
  const begun = beginRun({ kind, slug, target, requestedVersion: "none" }, { ...DEPLOY_DEFAULTS, ...options }, quiet);
  await using run = await openRoot(begun);
  const { layout, signal, emit } = run;
  await checkSupervisor(run);
  await using _turn = await lockTarget(run);
  await recover(run);
  await using _root = await lockRoot(run);
  await endInterrupted(layout, run.options.supervisor, emit);
  const { supervisor } = run.options;
  const { running, releases, items, units, kept } = await partsOf(layout, removed, supervisor);
  await requireNobodyTypes(run, target);
  const stop = (unit: string | null): Promise<void> => supervisorOf(layout, supervisor, items).stop(unit, signal);
  for (const unit of units) await stop(unit);
  for (const item of items) await removeOwnLink(layout, target, item);
  await rm(layout.current(target), { force: true });
  await syncLinks(layout);
  // Without its link nothing of it begins any more. What has begun meanwhile, and what a release of before left, ends.
  for (const { id } of await runningJobs(layout, target)) await stop(unitKey({ section: APPLICATIONS_FOLDER, id }));
  await requireNobodyTypes(run, target);
  for (const { name } of releases) await removeRelease(layout, target, name);
  await removeTree(layout.releases(target));
  await dropAhead(layout, target);
  await dropPartial(layout, target);
  for (const { id } of items.filter(isApplication)) await forgetJob(layout, id);
  await removeState(layout, target);
  for (const path of kept) await removeTree(path);
  return { version: running?.version ?? null, releases: releases.length };
}

/**
 * Requires that nobody runs a command in a release of a target.
 *
 * @throws DeploymentError `root_busy`
 */
async function requireNobodyTypes(
  { layout, options }: Pick<Run<Deployed>, "layout" | "options">,
  target: TargetName,
): Promise<void> {
  const releases = [...(await releasesTypedIn(layout, target, options.supervisor.systemdScope))];
  if (releases.length === 0) return;
  throw deploymentError("root_busy", `Somebody runs a command in ${releases.join(", ")} of it (\`sealift app run\`).`, {
    hint: "Nothing that it needs was removed. Let it end, or end it, and run the command again.",
  });
}

/** Removes the state of a target: its quarantine, its pin, a watch's memory. Requires the target's lock. */
async function removeState(layout: Layout, target: TargetName): Promise<void> {
  const folder = join(layout.sealift, "state");
  const own = [
    `${target}.json`,
    `deployed-${target}.json`,
    `pin-${target}.json`,
    `watch-${target}.json`,
    `consent-${target}.json`,
    ...HOLD_CAUSES.map((cause) => basename(holdFile(layout, target, cause))),
    `health-${target}.json`,
    fleetSettingsName(target),
  ];
  // A killed watch has left settings half written.
  const half = `.${fleetSettingsName(target)}.`;
  for (const name of (await ifThere(readdir(folder))) ?? [])
    if (own.includes(name) || name.startsWith(half)) await rm(join(folder, name));
}
