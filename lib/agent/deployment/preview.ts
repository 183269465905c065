import { constants } from "node:fs";
import { access, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { SealiftError } from "../../contract/errors.ts";
import type { InstallStep } from "../../contract/files/install-plan.ts";
import type { TargetName } from "../../contract/target.ts";
import { readJournal } from "../../releases/journal.ts";
import { type Layout, sameItem } from "../../releases/layout.ts";
import { standing } from "../../releases/links.ts";
import { isForeignRoot } from "../../releases/project-root.ts";
import { currentRelease, listReleases, outdatedReleases, readRelease, type Release } from "../../releases/release.ts";
import { statsOf } from "../../support/files.ts";
import type { AgentEvent, Emit } from "../ground/events.ts";
import type { OrderedPlan } from "../ground/plan.ts";
import type { Source } from "../sources/source.ts";
import { admit, alreadyRuns } from "./admit.ts";
import { provisionerOf } from "./fill-steps.ts";
import { checkedPlan, fillRelease } from "./install.ts";
import { type Difference, releaseDifferences } from "./release-diff.ts";
import { chooseRelease, keptSource, type KeptTarget, readyToGoBack } from "./rollback.ts";
import { beginRun, type Deployed, type DeployOptions, errorOf, type Run } from "./run.ts";
import { stage, type Staged } from "./stage.ts";
import { pluginOf } from "./steps.ts";
import { checkSupervisor } from "./supervision.ts";

/** The bytes that were fetched, and so would be. */
export interface PreviewedFetch {
  bytes: number;
  /** The kept release that a delta completes; null when the whole artifact is fetched. */
  delta_from: string | null;
  /** Bytes of the whole artifact, where the hub says so. */
  full_bytes: number | null;
}

/** The changes that a deployment would make. */
export interface PreviewedChanges {
  /** Null of a rollback, which fetches nothing. */
  fetched: PreviewedFetch | null;
  /** Paths below the project root, as are those of the next three. */
  installed: string[];
  /** Real folders that would become the first release. */
  adopted: string[];
  /** Links that would go with the running release. */
  removed: string[];
  /** Environment files that the host does not have yet. */
  env_files: string[];
  /** Compared with the running release; null when that one has no list of its files. */
  differences: Difference[] | null;
  /** The plan in the order in which it would be carried out. */
  steps: { id: string; action: InstallStep["action"]; plugin: string | null; after_switch: boolean }[];
  /** Versions of kept releases that would be garbage-collected. */
  collected: string[];
}

export interface Preview {
  outcome: "would_deploy" | "unchanged" | "failed";
  version: string | null;
  previous_version: string | null;
  changes?: PreviewedChanges;
  error?: SealiftError;
}

/** Events that say what was found; steps are told as a plan. */
const TOLD = new Set<AgentEvent["event"]>([
  "hub.waiting",
  "resolve.ok",
  "delta.chosen",
  "delta.failed",
  "ahead.used",
  "ahead.unusable",
  "fetch.progress",
  "fetch.resumed",
  "fetch.done",
  "verify.ok",
  "rights.more",
  "warning",
]);

/**
 * Finds out what a deployment would do: it fetches, verifies and unpacks the version like {@link deploy}, into a
 * temporary folder that it removes, and takes every decision up to the switch. It never throws. The project root is
 * only read, without a lock, so that it works beside a watch; no report is written or sent.
 */
export async function preview(source: Source, options: DeployOptions, listener: Emit): Promise<Preview> {
  const heard = listenToFetch();
  const begun = beginRun(source, options, (event) => {
    heard.hear(event);
    if (TOLD.has(event.event)) listener(event);
  });
  let folder = tmpdir();
  let previous: Release | undefined;
  try {
    await source.precheck?.(options.supervisor.name);
    await checkSupervisor(begun);
    await isForeignRoot(begun.layout, begun.options);
    await checkWritable(begun.layout.root);
    await warnOfJournal(begun);
    previous = await currentRelease(begun.layout, source.target);
    const kept = await listReleases(begun.layout, source.target);
    folder = await mkdtemp(join(tmpdir(), "sealift-dry-run-"));
    const layout = releasesElsewhere(begun.layout, folder, new Set(kept.map(({ name }) => name)));
    const changes = await carryOut({ ...begun, layout, isTrial: true }, previous, kept, heard.fetched);
    const outcome = changes === undefined ? "unchanged" : "would_deploy";
    return { outcome, ...versions(begun, previous), ...(changes !== undefined && { changes }) };
  } catch (thrown) {
    // A full disk is that of the temporary folder.
    const error = errorOf({ ...begun, layout: { ...begun.layout, root: folder } }, thrown);
    return { outcome: "failed", ...versions(begun, previous), error };
  } finally {
    if (folder !== tmpdir()) await rm(folder, { recursive: true, force: true });
  }
}

/** Warns where a journal says that something else is going on in the project root. */
export async function warnOfJournal({ layout, emit }: Run<Deployed>): Promise<void> {
  if ((await readJournal(layout)) === undefined) return;
  const message = "A deployment in this project root is under way or was interrupted; a real run ends it first.";
  emit({ event: "warning", message });
}

const versions = ({ draft }: Run, previous: Release | undefined) => ({
  version: draft.version,
  previous_version: previous?.version ?? null,
});

/** @returns undefined when this very artifact runs already */
async function carryOut(
  run: Run,
  previous: Release | undefined,
  kept: readonly Release[],
  fetched: PreviewedFetch,
): Promise<PreviewedChanges | undefined> {
  const { source, layout, options, emit, signal } = run;
  const { target } = source;
  const running = previous?.version ?? null;
  const resolved = await source.resolve({ emit, signal, running });
  emit({ event: "resolve.ok", version: resolved.version, running_version: running });
  if ((await alreadyRuns(run, previous, resolved)) !== undefined) return undefined;
  const admitted = await admit(run, resolved, previous);
  await using staged = await stage(run, admitted);
  const { identity } = staged.fetched;
  if ((await alreadyRuns(run, previous, { version: resolved.version, identity })) !== undefined) return undefined;
  const plan = await checkedPlan(run, staged);
  const { items, envFiles } = await fillRelease(run, staged, await withoutPrograms(run, plan, staged), {
    journal: { touch: () => Promise.resolve() },
    previous,
  });
  signal.throwIfAborted();
  const release = (await readRelease(layout, target, staged.attempt.release))!;
  const adopted: string[] = [];
  for (const item of items)
    if ((await standing(layout, target, item)) === "folder") adopted.push(`${item.section}/${item.id}`);
  const dropped = (previous?.items ?? []).filter((old) => !items.some((item) => sameItem(item, old)));
  return {
    fetched,
    installed: items.map(({ section, id }) => `${section}/${id}`),
    adopted,
    removed: dropped.map(({ section, id }) => `${section}/${id}`),
    env_files: [...envFiles.keys()].map((id) => `plugins/${id}.env`),
    differences: (await releaseDifferences(layout, target, [previous, release], { onlySent: true })) ?? null,
    steps: [...steps([...plan.fill, ...plan.stop], false), ...steps(plan.after, true)],
    collected: outdatedReleases([release, ...kept], release.name, options.keepReleases).map(({ version }) => version),
  };
}

/** The steps of a plan as a preview tells them. */
export const steps = (of: readonly InstallStep[], afterSwitch: boolean): PreviewedChanges["steps"] =>
  of.map((step) => ({ id: step.id, action: step.action, plugin: pluginOf(step), after_switch: afterSwitch }));

/**
 * The first steps of a plan without the operator's programs, which only have to be there, and without steps that need
 * what a program would have made.
 *
 * @throws DeploymentError `provisioner_missing`
 */
async function withoutPrograms(run: Run, plan: OrderedPlan, { fetched }: Staged): Promise<OrderedPlan> {
  const provisioned = new Set<string | null>();
  const fill: InstallStep[] = [];
  for (const step of plan.fill) {
    if (step.action === "notify") continue;
    if (step.action === "provision") {
      provisionerOf(step.plugin, run.options.provisioners);
      provisioned.add(step.plugin);
    } else if (!provisioned.has(pluginOf(step)) || (await isThere(step, fetched.tree))) fill.push(step);
  }
  return { ...plan, fill };
}

/** Whether a step can do its work with what was fetched, before a provisioner has run. */
async function isThere(step: InstallStep, tree: string): Promise<boolean> {
  if (step.action === "write_env") return false;
  return !("source" in step) || step.source === undefined || (await statsOf(join(tree, step.source))) !== undefined;
}

/** A project root whose new releases are made in `folder`; the links and kept releases are those of the root. */
function releasesElsewhere(layout: Layout, folder: string, kept: ReadonlySet<string>): Layout {
  const place = (target: TargetName, name: string): string =>
    kept.has(name) ? layout.release(target, name) : join(folder, name);
  return {
    ...layout,
    // Nothing of it has to outlive a power cut.
    durability: "none",
    release: place,
    staging: (_target, name) => join(folder, `staging-${name}`),
    shippedData: (target, name, { section, id }) => join(place(target, name), "shipped-data", section, id),
  };
}

/** Refuses a project root that could not be made or written. @throws the file system's error */
async function checkWritable(root: string): Promise<void> {
  let folder = root;
  while ((await statsOf(folder)) === undefined && dirname(folder) !== folder) folder = dirname(folder);
  await access(folder, constants.W_OK | constants.X_OK);
}

/** Gathers from the events which bytes were fetched. */
function listenToFetch(): { fetched: PreviewedFetch; hear: Emit } {
  const fetched: PreviewedFetch = { bytes: 0, delta_from: null, full_bytes: null };
  /** Bytes of downloads that have ended, and of the one that is under way. */
  let ended = 0;
  let current = 0;
  const hear: Emit = (event) => {
    if (event.event === "fetch.started") {
      ended += current;
      current = 0;
    } else if (event.event === "fetch.progress" || event.event === "fetch.done") current = event.bytes;
    else if (event.event === "locate.ok") fetched.full_bytes = event.size_bytes;
    else if (event.event === "delta.chosen") fetched.delta_from = event.base_version;
    else if (event.event === "delta.failed") fetched.delta_from = null;
    fetched.bytes = ended + current;
  };
  return { fetched, hear };
}

/**
 * Finds out what a rollback would do, with every check that it makes before it switches. It never throws. The project
 * root is only read, without a lock; no report is written.
 */
export async function previewRollback(kept: KeptTarget, options: DeployOptions, listener: Emit): Promise<Preview> {
  const run = beginRun(keptSource(kept), options, (event) => {
    if (event.event === "resolve.ok" || event.event === "warning") listener(event);
  });
  const { layout, source, emit } = run;
  let previous: string | null = null;
  try {
    await checkSupervisor(run);
    await warnOfJournal(run);
    const running = await currentRelease(layout, source.target);
    previous = running?.version ?? null;
    const release = await chooseRelease(run, running);
    emit({ event: "resolve.ok", version: release.version, running_version: previous });
    const versions = { version: release.version, previous_version: previous };
    if (release.name === running?.name) return { outcome: "unchanged", ...versions };
    const { plan } = await readyToGoBack(run, running, release);
    const gone = (running?.items ?? []).filter((old) => !release.items.some((item) => sameItem(item, old)));
    return {
      outcome: "would_deploy",
      ...versions,
      changes: {
        fetched: null,
        installed: release.items.map(({ section, id }) => `${section}/${id}`),
        adopted: [],
        removed: gone.map(({ section, id }) => `${section}/${id}`),
        env_files: [],
        differences: (await releaseDifferences(layout, source.target, [running, release])) ?? null,
        steps: [...steps(plan.stop, false), ...steps(plan.after, true)],
        collected: [],
      },
    };
  } catch (thrown) {
    return { outcome: "failed", version: run.draft.version, previous_version: previous, error: errorOf(run, thrown) };
  }
}
