import { chmod, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { InstallStep } from "../../contract/files/install-plan.ts";
import { INTEGRATION_FILE } from "../../contract/files/manifest.ts";
import { type ContentsOptions, writeContents } from "../../releases/contents.ts";
import { reserveData } from "../../releases/data-folders.ts";
import type { Attempt } from "../../releases/journal.ts";
import { ATTEMPT_FILE, isApplication, type Item } from "../../releases/layout.ts";
import { nextMoment, type Release, writeRelease } from "../../releases/release.ts";
import { REST_FOLDER, SourceFolders } from "../../releases/source-folders.ts";
import { planSwitch } from "../../releases/switch.ts";
import { statsOf } from "../../support/files.ts";
import type { Applications } from "../applications/descriptors.ts";
import { impliedSteps } from "../applications/steps.ts";
import { checkSupervised, type OrderedPlan, orderPlan, plannedItems, plannedSteps, unnoticed } from "../base/plan.ts";
import type { Fetched } from "../sources/source.ts";
import { noSupervisor } from "../supervisors/supervisor.ts";
import type { Arriving } from "./compare-rights.ts";
import { type Filling, runFillStep, withoutPrograms } from "./fill-steps.ts";
import type { ReadyRelease } from "./pipeline.ts";
import { checkRights, descriptorDigests } from "./rights.ts";
import type { Run } from "./run.ts";
import type { StagedTree } from "./stage.ts";
import { runSteps } from "./steps.ts";

/** Validates the plan of a verified tree against the project root, before any of it is carried out. */
async function checkedPlan(
  run: Run,
  { fetched, attempt }: StagedTree,
  previous: Release | undefined,
): Promise<{ plan: OrderedPlan; implied: InstallStep[] }> {
  const scope = {
    projectId: run.source.slug,
    plugins: new Set(fetched.plugins.keys()),
    extensions: new Set(fetched.extensions.keys()),
    ...(fetched.apps !== undefined && { apps: fetched.apps }),
  };
  const plan = orderPlan(fetched.plan, scope, fetched.planOrigin);
  checkSupervised(fetched.plan, run.options.supervisor.name, fetched.planOrigin);
  await planSwitch(run.layout, attempt.target, plannedItems(plan));
  run.emit({ event: "verify.ok", check: "plan" });
  const implied = await impliedBy(run, fetched.tree, plannedItems(plan), previous);
  run.emit({ event: "steps.planned", steps: plannedSteps({ ...plan, after: [...plan.after, ...implied] }) });
  const warning = run.options.supervisor.name === "none" ? undefined : unnoticed(plan);
  if (warning !== undefined) run.emit({ event: "warning", message: warning });
  return { plan, implied };
}

/** Returns the steps that the applications of a tree imply; none without applications, whose code is not loaded. */
async function impliedBy(
  { layout, source: { target } }: Run,
  tree: string,
  items: readonly Item[],
  previous: Release | undefined,
): Promise<InstallStep[]> {
  const before = previous?.items ?? [];
  if (![...before, ...items].some(isApplication)) return [];
  const { servicesIn } = await import("../applications/services.ts");
  const former = previous === undefined ? [] : await servicesIn(layout.release(target, previous.name), before);
  return impliedSteps(former, await servicesIn(tree, items));
}

/** Finished release, with its whole plan. */
export interface Installed extends ReadyRelease {
  plan: OrderedPlan;
}

/** Makes a release of a verified tree, as far as its plan goes before the switch. A trial skips operators' programs. */
export async function install(
  run: Run,
  staged: StagedTree,
  journal: Filling["journal"],
  previous: Release | undefined,
): Promise<Installed> {
  const { plan, implied } = await checkedPlan(run, staged, previous);
  const carried =
    run.isTrial === true ? await withoutPrograms(plan, run.options.provisioners, staged.fetched.tree) : plan;
  const { items, envFiles, settings } = await fillRelease(run, staged, carried, { journal, previous });
  return { items, envFiles, settings, plan: { ...plan, after: [...plan.after, ...implied] } };
}

/**
 * Runs the plan's first steps on a release, and finishes it. The tree moves from staging to its final path before them,
 * so that provisioners may use that path.
 *
 * @throws ArtifactError `app_invalid`
 * @throws DeploymentError `rights_held`, `app_not_allowed`, and the errors of the steps
 */
async function fillRelease(
  run: Run,
  staged: StagedTree,
  plan: OrderedPlan,
  { journal, previous }: { journal: Filling["journal"]; previous: Release | undefined },
): Promise<Filling> {
  const { layout, options } = run;
  const { target, release: name } = staged.attempt;
  const asked = { version: staged.attempt.resolved_version!, identity: staged.fetched.identity };
  // Before any provisioner runs code of a version that may be held.
  const { fetched } = staged;
  const tree = fetched.keep.includes(INTEGRATION_FILE) ? fetched.tree : undefined;
  await checkRights(run, asked, previous, { arriving: arrivingFrom(plan, staged.fetched), tree });
  const ids = plannedItems(plan)
    .filter(isApplication)
    .map(({ id }) => id);
  const apps = ids.length === 0 ? NO_APPLICATIONS : await admittedApplications(run, asked, previous, { fetched, ids });
  const release = layout.release(target, name);
  await rename(staged.folder, release);
  await rm(join(release, ATTEMPT_FILE));
  const filling: Filling = {
    layout,
    journal,
    release,
    version: staged.attempt.resolved_version!,
    previousVersion: previous?.version,
    fetched: { ...staged.fetched, tree: join(release, "tree") },
    apps,
    // Steps that need a supervisor come later, with one that knows the plugins.
    supervisor: noSupervisor(),
    provisioners: options.provisioners,
    templateEnv: options.templateEnv ?? [],
    notifiers: options.notifiers,
    items: [],
    sourceFolders: new Map(),
    provisioned: new Set(),
    envFiles: new Map(),
    settings: new Map(),
    target,
    emit: run.emit,
    signal: run.signal,
  };
  await runSteps(plan.fill, filling, runFillStep);
  if (apps.size > 0) await preparedApplications(run, asked, filling, apps);
  // A provisioner may have changed the descriptor: this one is what the runtime loads.
  const installed = filling.items.map((item) => ({ ...item, folder: join(release, item.section, item.id) }));
  if (filling.provisioned.size > 0)
    await checkRights(run, asked, previous, { arriving: installed, tree: tree && filling.fetched.tree });
  await finishRelease(run, filling, staged.attempt, plan);
  return filling;
}

const NO_APPLICATIONS: Applications = new Map();

/** Reads the applications of a verified tree, and holds it if they may not run here. */
async function admittedApplications(
  run: Run,
  asked: { version: string; identity: string | null },
  previous: Release | undefined,
  { fetched, ids }: { fetched: Fetched; ids: readonly string[] },
): Promise<Applications> {
  // Loaded only for projects with applications.
  const { arrivingApplications } = await import("../applications/descriptors.ts");
  const apps = await arrivingApplications(fetched.tree, ids);
  const { holdApplications } = await import("./hold-applications.ts");
  await holdApplications(run, asked, apps, previous);
  return apps;
}

/** Makes launchers and settings of applications, and holds a version that lacks some. */
async function preparedApplications(
  run: Run,
  asked: { version: string; identity: string | null },
  filling: Filling,
  apps: Applications,
): Promise<void> {
  const [{ holdSettings }, { prepareApplications }] = await Promise.all([
    import("./hold-settings.ts"),
    import("./prepare-applications.ts"),
  ]);
  await holdSettings(run, asked, apps, () => prepareApplications(filling, apps));
}

/** Returns the items that the plan installs, each with its folder in the verified tree. */
function arrivingFrom({ fill }: OrderedPlan, { tree, plugins, extensions }: Fetched): Arriving {
  return fill.flatMap((step): Arriving => {
    if (step.action === "install_plugin") {
      const folder = join(tree, step.source ?? plugins.get(step.plugin)!.folder);
      return [{ section: "plugins", id: step.plugin, folder }];
    }
    if (step.action === "install_extension") {
      const folder = join(tree, step.source ?? extensions.get(step.extension)!.folder);
      return [{ section: "extensions", id: step.extension, folder }];
    }
    return [];
  });
}

/**
 * Finishes a release. Files for people stay with it, and the rest of a project's tree stays as a base for deltas;
 * writing `release.json` completes it.
 */
async function finishRelease(
  run: Run,
  context: Filling,
  { target, release: name, resolved_version: version }: Attempt,
  { stop, after }: OrderedPlan,
): Promise<void> {
  const { fetched, release, items, sourceFolders } = context;
  for (const file of fetched.keep) {
    const from = join(fetched.tree, file);
    if ((await statsOf(from)) !== undefined) await rename(from, join(release, file));
  }
  const isBase = fetched.contentSha256 !== null;
  if (isBase) await rename(fetched.tree, join(release, REST_FOLDER));
  else await rm(fetched.tree, { recursive: true, force: true });
  for (const item of items) await reserveData(run.layout, target, name, item);
  if (run.options.pluginSecretKey !== undefined) {
    const { signPlugins } = await import("./plugin-signing.ts");
    await signPlugins(release, items, run.options.pluginSecretKey);
  }
  await chmod(release, 0o755);
  const files = await writeContents(release, contentsOf(context));
  await writeRelease(run.layout, target, name, {
    version: version!,
    identity: fetched.identity,
    items,
    steps: { stop, after },
    content_sha256: fetched.contentSha256,
    signer: fetched.signer,
    descriptors: await descriptorDigests(release, items),
    ...(isBase && { source_folders: Object.fromEntries(sourceFolders) }),
    created_at: await nextMoment(run.layout, target),
    files,
  });
}

/**
 * Collects what unpacking found about the files of a release. Provisioned plugins may have changed, and so may files
 * set apart as data.
 */
function contentsOf({ fetched, items, sourceFolders, provisioned }: Filling): ContentsOptions {
  const { keep, contentSha256, listing } = fetched;
  const { files, emptyFolders } = listing;
  const folders = new SourceFolders(Object.fromEntries(sourceFolders), items);
  const mayHaveChanged = (path: string): boolean => {
    if (provisioned.size === 0) return false;
    const [, item] = /^(?:shipped-data\/)?([^/]+\/[^/]+)\//.exec(path) ?? [];
    return item !== undefined && provisioned.has(item);
  };
  return {
    known: (path) => {
      const unpacked = files.find(folders.pathOf(path));
      const isSource = contentSha256 !== null && unpacked !== undefined;
      return { unpacked, isSource, mayHaveChanged: mayHaveChanged(path) };
    },
    kept: keep.filter((name) => files.find(name) !== undefined),
    emptyFolders,
  };
}
