import { chmod, rename, rm } from "node:fs/promises";
import { join, posix } from "node:path";
import { readDigestList } from "../../artifact/tree/digest-list.ts";
import { readTreeList } from "../../artifact/tree/tree-list.ts";
import { type KnownDigest, writeContents } from "../../releases/contents.ts";
import { reserveData } from "../../releases/data-folders.ts";
import type { Journal } from "../../releases/journal.ts";
import { ATTEMPT_FILE, type Item } from "../../releases/layout.ts";
import { writeRelease } from "../../releases/release.ts";
import { REST_FOLDER, TREE_LIST } from "../../releases/source-tree.ts";
import { type NewRelease, planSwitch } from "../../releases/switch.ts";
import { statsOf } from "../../support/files.ts";
import { DIGESTS_FILE } from "../sources/source.ts";
import { noSupervisor } from "../supervisors/none.ts";
import { checkSupervised, type OrderedPlan, orderPlan, plannedItems, plannedSteps } from "./plan.ts";
import type { Run } from "./run.ts";
import type { Staged } from "./stage.ts";
import { runSteps, type StepContext } from "./steps.ts";

/** A finished release that nothing points to yet, and the steps that are left. */
export interface Installed extends NewRelease {
  plan: Pick<OrderedPlan, "stop" | "after">;
  /** Carries out the steps that are left. */
  steps: StepContext;
}

/** Checks the plan of a verified tree against the project root, before anything of it is carried out. */
async function checkedPlan(run: Run, { fetched, attempt }: Staged): Promise<OrderedPlan> {
  const scope = {
    projectId: run.source.slug,
    plugins: new Set(fetched.plugins.keys()),
    extensions: new Set(fetched.extensions.keys()),
  };
  const plan = orderPlan(fetched.plan, scope, fetched.planOrigin);
  checkSupervised(fetched.plan, run.options.supervisor.name, fetched.planOrigin);
  await planSwitch(run.layout, attempt.target, plannedItems(plan));
  run.emit({ event: "verify.ok", check: "plan" });
  run.emit({ event: "steps.planned", steps: plannedSteps(plan) });
  return plan;
}

/**
 * Makes a release of a verified tree: it leaves staging for its final path, so that what a provisioner makes may
 * name that path; then the
 * plan's first steps fill it.
 */
export async function install(run: Run, staged: Staged, journal: Journal): Promise<Installed> {
  const { layout, options } = run;
  const { target, release: name } = journal.entry;
  const plan = await checkedPlan(run, staged);
  const release = layout.release(target, name);
  await rename(staged.folder, release);
  await rm(join(release, ATTEMPT_FILE));
  const items: Item[] = [];
  const envFiles = new Map<string, string>();
  const filling: StepContext = {
    layout,
    journal,
    release,
    fetched: { ...staged.fetched, tree: join(release, "tree") },
    // Steps that need one come later; it is told then which plugins there are.
    supervisor: noSupervisor(),
    provisioners: options.provisioners,
    templateEnvironment: options.templateEnvironment,
    notifiers: options.notifiers,
    items,
    sourceFolders: new Map(),
    provisioned: new Set(),
    envFiles,
    emit: run.emit,
    signal: run.signal,
  };
  await runSteps(plan.fill, filling);
  await finishRelease(run, filling, name, unitsOf(plan));
  const plugins = items.filter(({ section }) => section === "plugins").map(({ id }) => id);
  const supervisor = options.supervisor.make?.(plugins) ?? noSupervisor();
  return { items, envFiles, plan, steps: { ...filling, supervisor } };
}

/** The units that the plan starts, restarts or checks: what a rollback to this release brings up again. */
function unitsOf({ after }: OrderedPlan): (string | null)[] {
  const supervised = after.flatMap((step) =>
    step.action === "start" || step.action === "restart" || step.action === "healthcheck" ? [step.plugin ?? null] : [],
  );
  return [...new Set(supervised)];
}

/**
 * The files that people may want to read stay with the release, and so does the rest of a project's tree, as a base for deltas;
 * `release.json` makes it whole.
 */
async function finishRelease(run: Run, context: StepContext, name: string, units: (string | null)[]): Promise<void> {
  const { fetched, release, items, sourceFolders, journal } = context;
  const { target, resolved_version: version } = journal.entry;
  for (const file of fetched.keep) {
    const from = join(fetched.tree, file);
    if ((await statsOf(from)) !== undefined) await rename(from, join(release, file));
  }
  const isBase = (await statsOf(join(release, TREE_LIST))) !== undefined;
  if (isBase) await rename(fetched.tree, join(release, REST_FOLDER));
  else await rm(fetched.tree, { recursive: true, force: true });
  for (const item of items) await reserveData(run.layout, target, name, item);
  if (run.options.pluginSecretKey !== undefined) {
    const { signPlugins } = await import("./plugin-signing.ts");
    await signPlugins(release, items, run.options.pluginSecretKey);
  }
  await chmod(release, 0o755);
  const files = await writeContents(release, await knownDigests(context));
  await writeRelease(run.layout, target, name, {
    version: version!,
    identity: fetched.identity,
    items,
    units,
    content_sha256: fetched.contentSha256,
    ...(isBase && { source_folders: Object.fromEntries(sourceFolders) }),
    created_at: new Date().toISOString(),
    files,
  });
}

/**
 * The digests that unpacking has found, by the paths that the files have in the release. A plugin that was provisioned may
 * have changed, and so may the files that are set apart as its data.
 */
async function knownDigests({ release, items, sourceFolders, provisioned }: StepContext): Promise<KnownDigest> {
  const digests = await unpackedDigests(release);
  const unchanged = items.filter(({ section, id }) => section !== "plugins" || !provisioned.has(id));
  const places = new Set(unchanged.map(({ section, id }) => `${section}/${id}`));
  return (path) => {
    const [section, id, ...rest] = path.split("/");
    const place = `${section}/${id}`;
    return places.has(place) ? digests.get(posix.join(sourceFolders.get(place)!, ...rest)) : undefined;
  };
}

async function unpackedDigests(release: string): Promise<Map<string, string>> {
  const [tree, archive] = [join(release, TREE_LIST), join(release, DIGESTS_FILE)];
  if ((await statsOf(tree)) !== undefined) {
    const entries = await readTreeList(tree);
    return new Map(
      [...entries].flatMap((entry) => (entry.type === "file" ? [[entry.path, entry.sha256] as const] : [])),
    );
  }
  if ((await statsOf(archive)) === undefined) return new Map();
  const digests = await readDigestList(archive);
  await rm(archive);
  return digests;
}
