import { constants } from "node:fs";
import { access, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { SealiftError } from "../../contract/errors.ts";
import type { InstallStep } from "../../contract/files/install-plan.ts";
import type { TargetName } from "../../contract/target.ts";
import { readJournal } from "../../releases/journal.ts";
import { type Item, type Layout, sameItem } from "../../releases/layout.ts";
import { linkState } from "../../releases/links.ts";
import { requireOwnRoot } from "../../releases/project-root.ts";
import {
  currentRelease,
  listReleases,
  outdatedReleases,
  readRelease,
  type Release,
  replaceableRelease,
} from "../../releases/release.ts";
import { statsOf } from "../../support/files.ts";
import type { AgentEvent, Emit } from "../base/events.ts";
import type { Source } from "../sources/source.ts";
import { DEPLOYMENT } from "./deploy.ts";
import type { Installed } from "./install.ts";
import { refuseEarly } from "./pipeline.ts";
import { type Difference, releaseDifferences } from "./release-diff.ts";
import { keptSource, type KeptTarget, ROLLBACK, walkBack } from "./rollback.ts";
import {
  beginRun,
  DEPLOY_DEFAULTS,
  type Deployed,
  type DeployOptions,
  errorOf,
  type FewerOptions,
  type Run,
} from "./run.ts";
import { pluginOf } from "./steps.ts";
import { walk } from "./walk.ts";

/** Bytes that were fetched for the preview, as a deployment would fetch them. */
export interface PreviewedFetch {
  bytes: number;
  /** Kept release that a delta completes; null when the whole artifact is fetched. */
  delta_from: string | null;
  /** Bytes of the whole artifact, if the hub states them. */
  full_bytes: number | null;
}

/** Changes that a deployment would make. */
export interface PreviewedChanges {
  /** Null for a rollback, which fetches nothing. */
  fetched: PreviewedFetch | null;
  /** Paths below the project root; so are those of the next three fields. */
  installed: string[];
  /** Real folders that would become the first release. */
  adopted: string[];
  /** Links that would be removed with the running release. */
  removed: string[];
  /** Environment files that the host does not have yet. */
  env_files: string[];
  /** Differences from the running release; null when that one has no list of its files. */
  differences: Difference[] | null;
  /** Plan in execution order. */
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

/** Events that report findings; steps are shown as a plan. */
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
 * Previews a deployment: fetches, verifies and unpacks the version like {@link deploy}, into a temporary folder that is
 * removed, and makes every decision up to the switch. Never throws. Reads the project root without a lock, so that it
 * works beside a watch, and writes and sends no report.
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
    await refuseEarly(begun, DEPLOYMENT);
    await requireOwnRoot(begun.layout, begun.options);
    await checkWritable(begun.layout.root);
    await warnOfJournal(begun);
    previous = await replaceableRelease(begun.layout, source.target);
    const kept = await listReleases(begun.layout, source.target);
    folder = await mkdtemp(join(tmpdir(), "sealift-dry-run-"));
    const layout = releasesElsewhere(begun.layout, folder, new Set(kept.map(({ name }) => name)));
    const run = { ...begun, layout, isTrial: true };
    const changes = await walk(run, previous, {
      unchanged: async () => undefined,
      replace: async ({ staged, install }) => {
        const ready = await install({ touch: () => Promise.resolve() });
        run.signal.throwIfAborted();
        const release = (await readRelease(layout, source.target, staged.attempt.release))!;
        return changesOf(run, ready, { previous, release, kept, fetched: heard.fetched });
      },
    });
    return { ...outcomeOf(changes), ...versions(begun, previous) };
  } catch (thrown) {
    // A full disk here is that of the temporary folder.
    const error = errorOf({ ...begun, layout: { ...begun.layout, root: folder } }, thrown);
    return { outcome: "failed", ...versions(begun, previous), error };
  } finally {
    if (folder !== tmpdir()) await rm(folder, { recursive: true, force: true });
  }
}

/** Warns if a journal says that another run is under way in the project root. */
export async function warnOfJournal({ layout, emit }: Run<Deployed>): Promise<void> {
  if ((await readJournal(layout)) === undefined) return;
  const message = "A deployment in this project root is under way or was interrupted; a real run ends it first.";
  emit({ event: "warning", message });
}

const versions = ({ draft }: Run<Deployed>, previous: Release | undefined) => ({
  version: draft.version,
  previous_version: previous?.version ?? null,
});

/** Compares a finished release with the running one. */
async function changesOf(
  { source, layout, options }: Run,
  { items, envFiles, plan }: Installed,
  {
    previous,
    release,
    kept,
    fetched,
  }: { previous: Release | undefined; release: Release; kept: readonly Release[]; fetched: PreviewedFetch },
): Promise<PreviewedChanges> {
  const { target } = source;
  const adopted: string[] = [];
  for (const item of items)
    if ((await linkState(layout, target, item)) === "folder") adopted.push(`${item.section}/${item.id}`);
  return {
    fetched,
    installed: items.map(pathOf),
    adopted,
    removed: dropped(previous, items),
    env_files: [...envFiles.keys()].map((id) => `plugins/${id}.env`),
    differences: (await releaseDifferences(layout, target, [previous, release], { onlySent: true })) ?? null,
    steps: [...steps([...plan.fill, ...plan.stop], false), ...steps(plan.after, true)],
    collected: outdatedReleases([release, ...kept], release.name, options.keepReleases).map(({ version }) => version),
  };
}

/** Returns the steps of a plan in the form of a preview. */
export const steps = (of: readonly InstallStep[], afterSwitch: boolean): PreviewedChanges["steps"] =>
  of.map((step) => ({ id: step.id, action: step.action, plugin: pluginOf(step), after_switch: afterSwitch }));

/**
 * Returns a layout of the project root with its links and kept releases, in which new releases are made in `folder`.
 */
function releasesElsewhere(layout: Layout, folder: string, kept: ReadonlySet<string>): Layout {
  const place = (target: TargetName, name: string): string =>
    kept.has(name) ? layout.release(target, name) : join(folder, name);
  return {
    ...layout,
    // Nothing of it has to survive a power cut.
    durability: "none",
    release: place,
    staging: (_target, name) => join(folder, `staging-${name}`),
    shippedData: (target, name, { section, id }) => join(place(target, name), "shipped-data", section, id),
  };
}

/** Requires a project root that could be created or written. @throws the file system's error */
async function checkWritable(root: string): Promise<void> {
  let folder = root;
  while ((await statsOf(folder)) === undefined && dirname(folder) !== folder) folder = dirname(folder);
  await access(folder, constants.W_OK | constants.X_OK);
}

/** Collects from the events which bytes were fetched. */
function listenToFetch(): { fetched: PreviewedFetch; hear: Emit } {
  const fetched: PreviewedFetch = { bytes: 0, delta_from: null, full_bytes: null };
  /** Bytes of finished downloads; the next variable has those of the current one. */
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
 * Previews a rollback, with every check made before its switch. Never throws. Reads the project root without a lock,
 * and writes and sends no report.
 */
export async function previewRollback(kept: KeptTarget, options: FewerOptions, listener: Emit): Promise<Preview> {
  const begun = beginRun(keptSource(kept), { ...DEPLOY_DEFAULTS, ...options }, (event) => {
    if (event.event === "resolve.ok" || event.event === "warning") listener(event);
  });
  const run = { ...begun, isTrial: true };
  const { layout, source } = run;
  let running: Release | undefined;
  try {
    await refuseEarly(run, ROLLBACK);
    await warnOfJournal(run);
    running = await currentRelease(layout, source.target);
    const changes = await walkBack(run, running, {
      unchanged: async () => undefined,
      replace: async ({ release, ready: { items, plan } }) => ({
        fetched: null,
        installed: items.map(pathOf),
        adopted: [],
        removed: dropped(running, items),
        env_files: [],
        differences: (await releaseDifferences(layout, source.target, [running, release])) ?? null,
        steps: [...steps(plan.stop, false), ...steps(plan.after, true)],
        collected: [],
      }),
    });
    return { ...outcomeOf(changes), ...versions(run, running) };
  } catch (thrown) {
    return { outcome: "failed", ...versions(run, running), error: errorOf(run, thrown) };
  }
}

const outcomeOf = (changes: PreviewedChanges | undefined): Pick<Preview, "outcome" | "changes"> =>
  changes === undefined ? { outcome: "unchanged" } : { outcome: "would_deploy", changes };

const pathOf = ({ section, id }: Item): string => `${section}/${id}`;

/** Returns the links of a release that the next one does not have. */
const dropped = (release: Release | undefined, next: readonly Item[]): string[] =>
  (release?.items ?? []).filter((old) => !next.some((item) => sameItem(item, old))).map(pathOf);
