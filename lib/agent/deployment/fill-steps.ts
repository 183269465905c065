import { chmod, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { deploymentError } from "../../contract/errors.ts";
import { APPLICATIONS_FOLDER } from "../../contract/files/application-names.ts";
import type { InstallStep, Provisioners } from "../../contract/files/install-plan.ts";
import type { TargetName } from "../../contract/target.ts";
import type { Item, Layout } from "../../releases/layout.ts";
import { makeFolder, statsOf } from "../../support/files.ts";
import type { Applications } from "../applications/descriptors.ts";
import type { OrderedPlan } from "../base/plan.ts";
import type { Fetched } from "../sources/source.ts";
import { prepareEnvFile, requireSettings } from "./env-file.ts";
import { provision, provisionedBy, provisionerOf } from "./provision.ts";
import { pluginOf, type Ran, runStep, type StepContext } from "./steps.ts";

/** Context of steps that fill a release from a verified tree. */
export interface Filling extends StepContext {
  layout: Layout;
  /** Folder of the release, not yet visible to anyone. */
  release: string;
  /** Version of the release, and of the one that it replaces, if any. */
  version: string;
  previousVersion: string | undefined;
  fetched: Fetched;
  /** Applications of the release, with their checked descriptors. */
  apps: Applications;
  provisioners: Provisioners;
  /** Names that templates may take from this process's environment; empty for every declared one. */
  templateEnv: readonly string[];
  /** Installed items, filled by `install_plugin` and `install_extension`. */
  items: Item[];
  /** `<section>/<id>` → the item's folder in the verified tree. */
  sourceFolders: Map<string, string>;
  /** `<section>/<id>` of the items on which a provisioner has run. */
  provisioned: Set<string>;
  /** Unit → prepared `.env` file, filled by `write_env` and for applications. */
  envFiles: Map<string, string>;
  /** Unit → text that replaces its `.env` file at the switch. */
  settings: Map<string, string>;
  /** Target that is deployed. */
  target: TargetName;
}

/** Runs one step before the switch. */
export async function runFillStep(step: InstallStep, context: Filling): Promise<Ran> {
  const { plugins, extensions } = context.fetched;
  switch (step.action) {
    case "install_plugin": {
      const source = step.source ?? plugins.get(step.plugin)!.folder;
      return install({ section: "plugins", id: step.plugin }, source, context);
    }
    case "install_extension": {
      const source = step.source ?? extensions.get(step.extension)!.folder;
      return install({ section: "extensions", id: step.extension }, source, context);
    }
    case "install_app":
      return install(applicationItem(step.app, context), `${APPLICATIONS_FOLDER}/${step.app}`, context);
    case "provision":
      return provision(step, context);
    case "write_env":
      return writeEnv(step.plugin, step.from, context);
    default:
      return runStep(step, context);
  }
}

function applicationItem(id: string, { apps }: Pick<Filling, "apps">): Item {
  const data = apps.get(id)?.data;
  return { section: APPLICATIONS_FOLDER, id, ...(data !== undefined && { data }) };
}

/** Moves an item from the verified tree to its place in the release. */
async function install(item: Item, source: string, { fetched, release, items, sourceFolders }: Filling): Promise<void> {
  const from = join(fetched.tree, source);
  if ((await statsOf(from))?.isDirectory() !== true) {
    throw deploymentError(
      "plan_invalid",
      `The plan installs ${item.id} from ${source}, which is not a folder of the artifact.`,
      {
        hint: "Correct the step's source.",
      },
    );
  }
  const to = join(release, item.section, item.id);
  await makeFolder(dirname(to));
  await rename(from, to);
  // The root of an archive was a private folder so far; the runtime's user has to read it.
  await chmod(to, 0o755);
  items.push(item);
  sourceFolders.set(`${item.section}/${item.id}`, source);
}

async function writeEnv(plugin: string, from: string, context: Filling): Promise<void> {
  const { layout, fetched, release } = context;
  const installed = join(release, "plugins", plugin, from);
  const template = (await statsOf(installed)) === undefined ? await templateInTree(plugin, from, fetched) : installed;
  const prepared = join(release, `${plugin}.env`);
  const { isNew, missing } = await prepareEnvFile({
    plugin,
    template,
    existing: layout.envFile({ section: "plugins", id: plugin }),
    prepared,
    required: fetched.plugins.get(plugin)!.requiredEnvironment,
    optional: fetched.plugins.get(plugin)!.optionalEnvironment,
    allowed: context.templateEnv,
    environment: process.env,
  });
  requireSettings(missing === undefined ? [] : [missing]);
  if (isNew) context.envFiles.set(plugin, prepared);
}

/** Resolves a template's path: `from` is relative to the plugin's folder, or to the artifact's root. */
async function templateInTree(plugin: string, from: string, fetched: Fetched): Promise<string> {
  const own = join(fetched.tree, fetched.plugins.get(plugin)!.folder, from);
  return (await statsOf(own)) === undefined ? join(fetched.tree, from) : own;
}

/**
 * Returns the first steps of a plan, without operators' programs, which only have to exist, and without steps that need
 * their output.
 *
 * @throws DeploymentError `provisioner_missing`
 */
export async function withoutPrograms(
  plan: OrderedPlan,
  provisioners: Provisioners,
  tree: string,
): Promise<OrderedPlan> {
  const provisioned = new Set<string | null>();
  const fill: InstallStep[] = [];
  for (const step of plan.fill) {
    if (step.action === "notify") continue;
    if (step.action === "provision") {
      provisionerOf(provisionedBy(step), provisioners);
      if (step.plugin !== undefined) provisioned.add(step.plugin);
    } else if (!provisioned.has(pluginOf(step)) || (await isThere(step, tree))) fill.push(step);
  }
  return { ...plan, fill };
}

/** Tells whether a step can run on what was fetched, before any provisioner. */
async function isThere(step: InstallStep, tree: string): Promise<boolean> {
  if (step.action === "write_env") return false;
  return !("source" in step) || step.source === undefined || (await statsOf(join(tree, step.source))) !== undefined;
}
