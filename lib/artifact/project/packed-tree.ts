import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod";
import { usageError } from "../../contract/errors.ts";
import type { Application } from "../../contract/files/application.ts";
import { APPLICATIONS_FOLDER } from "../../contract/files/application-names.ts";
import { type InstallPlan, installPlan } from "../../contract/files/install-plan.ts";
import { INTEGRATION_FILE, PLAN_FILE } from "../../contract/files/manifest.ts";
import { parseYaml } from "../../support/yaml-file.ts";
import { type Limits, limitsOf } from "../limits.ts";
import { addonNote, foreignAddons, THIS_PLATFORM } from "../packages/addons.ts";
import { type PackageChoice, projectPackages, unpackedNotes } from "../packages/project-packages.ts";
import type { MemberList } from "../tree/member-list.ts";
import { quoted } from "../tree/safe-path.ts";
import { listSourceTree, type SourceTree } from "../tree/source-tree.ts";
import { checkApplications, isApplicationFolder, linkNotes } from "./source-applications.ts";

export interface PackedOptions {
  /** Project that the plan must belong to; undefined for whichever it is. */
  projectId?: string | undefined;
  include?: readonly string[] | undefined;
  limits: Limits;
  /** Folders whose npm packages are packed. Default: applications with a lock file of npm. */
  packages?: PackageChoice | undefined;
  /** Platform of the hosts, such as `linux-arm64`. Default: that of this machine. */
  platform?: string | undefined;
}

/** Choices of a person about what is packed; the options of commands have these names. */
export interface PackingChoice extends Partial<Limits> {
  include: readonly string[];
  appPackages: boolean;
  withDependencies: boolean;
  platform: string | undefined;
}

/** Returns what a publication packs by these choices, and a trial, too. */
export const packedBy = (choice: PackingChoice) => ({
  include: choice.include,
  limits: limitsOf(choice),
  packages: { ofApplications: choice.appPackages, ofAll: choice.withDependencies },
  platform: choice.platform,
});

/** Members of a project as they are packed, with its checked plan. */
export interface PackedTree {
  tree: SourceTree;
  plan: InstallPlan;
  pluginsFolder: string;
  /** Applications that the plan installs, with their checked descriptors. */
  apps: ReadonlyMap<string, Application>;
  /** Facts that a publisher may not expect: addons for another platform, and data that is seed. */
  notes: string[];
}

const integrationFacts = z.looseObject({ plugins: z.looseObject({ directory: z.string().optional() }).optional() });

export const sourceInvalid = (message: string, faults: string[] = []) =>
  usageError("source_invalid", message, { faults });

/**
 * Lists what is packed of a project, and checks its plan and its applications.
 *
 * @throws UsageError `source_*`
 */
export function listPacked(root: string, options: PackedOptions): PackedTree {
  const { projectId, limits, include, platform = THIS_PLATFORM } = options;
  const pluginsFolder = pluginsDirname(root);
  const packages = projectPackages(root, pluginsFolder, options.packages);
  const tree = listSourceTree(root, { limits, packages, follows: isApplicationFolder, ...(include && { include }) });
  const { members } = tree;
  const plan = readPlan(root, members, projectId);
  const apps = checkApplications(root, members, plan, pluginsFolder);
  const dataFolders = [
    ...foldersIn(members, pluginsFolder).map((id) => `${pluginsFolder}/${id}/data`),
    ...foldersIn(members, "extensions").map((id) => `extensions/${id}/data`),
    ...[...apps].flatMap(([id, { data }]) => (data === undefined ? [] : [`${APPLICATIONS_FOLDER}/${id}/${data}`])),
  ];
  const notes = [
    ...linkNotes(root, plan),
    ...unpackedNotes(root, packages, (path) => members.has(path), options.packages),
    ...foreignAddons(tree, packages, platform).map((found) => addonNote(found, platform)),
    ...dataFolders.flatMap((folder) => seedNote(members, folder) ?? []),
  ];
  return { tree, plan, pluginsFolder, apps, notes };
}

/** Lists the folders in a folder that are its plugins or extensions. */
export function foldersIn(members: MemberList, parent: string): string[] {
  return members
    .within(parent)
    .filter((index) => members.isFolder(index))
    .map((index) => members.pathAt(index).slice(parent.length + 1))
    .filter((id) => !id.includes("/") && !id.startsWith("_"))
    .toArray();
}

/** Describes files in a data folder; undefined without any. */
function seedNote(members: MemberList, folder: string): string | undefined {
  const files = members.within(folder).filter((index) => !members.isFolder(index));
  const count = [...files].length;
  if (count === 0) return undefined;
  const what = count === 1 ? "1 file, which is" : `${count} files, which are`;
  return `${folder} has ${what} seed: a host copies what it lacks there, and no later version replaces it.`;
}

function pluginsDirname(root: string): string {
  const file = join(root, INTEGRATION_FILE);
  if (!existsSync(file)) return "plugins";
  const facts = parseYaml(readFileSync(file, "utf8"), integrationFacts, file, sourceInvalid);
  return (facts.plugins?.directory ?? "plugins").replace(/^\.\//, "").replace(/\/$/, "");
}

/** Folders above the given one that are looked at for a plan. */
const MOST_ABOVE = 3;

/** Returns what to do in a folder without a plan: a folder near it may be the one that was meant. */
function adviceWithoutPlan(root: string): string {
  const above = Array.from({ length: MOST_ABOVE }, (_, step) => resolve(root, ...Array<string>(step + 1).fill("..")));
  const below = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(root, name));
  const meant = [...above, ...below].find((folder) => existsSync(join(folder, PLAN_FILE)));
  if (meant !== undefined) return `Give the project's own folder: ${meant} has one.`;
  return "`sealift app init` makes one for a program, `sealift plan init PROJECT --kind project` one for plugins.";
}

/** Reads and checks the plan, so that its publisher learns of a fault before any host does. */
function readPlan(root: string, members: MemberList, projectId: string | undefined): InstallPlan {
  const file = join(root, PLAN_FILE);
  if (!members.has(PLAN_FILE)) {
    const isThere = existsSync(file);
    const why = isThere ? "is left out by an exclusion" : "is missing";
    throw usageError("source_invalid", `${quoted(PLAN_FILE)} ${why}: it says what a host does with the project.`, {
      hint: isThere ? `Bring it back with --include ${PLAN_FILE}.` : adviceWithoutPlan(root),
    });
  }
  const plan = parseYaml(readFileSync(file, "utf8"), installPlan, file, sourceInvalid);
  if (projectId !== undefined && plan.project_id !== projectId) {
    throw sourceInvalid(
      `${file} belongs to project ${quoted(plan.project_id)}, not to ${projectId}: agents would refuse it.`,
    );
  }
  return plan;
}
