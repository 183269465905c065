import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { type Document, isMap, isSeq, parseDocument, stringify } from "yaml";
import { usageError } from "../contract/errors.ts";
import { APPLICATION_FILE, APPLICATIONS_FOLDER, applicationsOf } from "../contract/files/application-names.ts";
import { installPlan } from "../contract/files/install-plan.ts";
import { PLAN_FILE } from "../contract/files/manifest.ts";
import { writeFileAtomic } from "../support/files.ts";
import { parseYaml } from "../support/yaml-file.ts";
import { projectAround } from "./applications/trial-source.ts";
import { itemsOfSource, starterPlan } from "./starters.ts";

/** Project that is to publish an application. */
export interface InitialProject {
  /** Its source tree. */
  root: string;
  projectId: string;
  id: string;
  /** Folder of the program. */
  folder: string;
  /** Link to that folder in the source tree; undefined where it lies there itself. */
  link: string | undefined;
}

/**
 * Places the project of an application: the one whose `apps/` the program lies in, or a new one in `out`.
 *
 * @param out default: `deploy` in the program's folder
 * @throws UsageError `usage` for a folder that has another id in its project
 */
export function initialProject(of: {
  folder: string;
  id: string;
  projectId: string;
  out: string | undefined;
}): InitialProject {
  const { folder, id, projectId } = of;
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw usageError("usage", `${folder} is not a folder.`, { hint: "Name the program's folder with --folder." });
  const isPlaced = of.out === undefined && basename(dirname(folder)) === APPLICATIONS_FOLDER;
  if (isPlaced && basename(folder) !== id)
    throw usageError("usage", `${folder} is the application ${basename(folder)} of its project, not ${id}.`, {
      hint: `Give --id ${basename(folder)}, or rename the folder.`,
    });
  const root = isPlaced ? dirname(dirname(folder)) : (of.out ?? join(folder, "deploy"));
  return { ...{ root, projectId, id, folder }, link: isPlaced ? undefined : join(root, APPLICATIONS_FOLDER, id) };
}

/**
 * Returns the id of the project that an application is added to, as the plan there says it.
 *
 * @param out folder of the project; default: the one around the program's folder, or `deploy` in it
 * @throws UsageError `usage` where there is no plan; `config_invalid`
 */
export function plannedProjectId(folder: string, out: string | undefined): string {
  const root = out ?? projectAround(folder);
  const plan = root === undefined ? undefined : join(root, PLAN_FILE);
  const { project_id: id } =
    plan === undefined || !existsSync(plan) ? {} : parseYaml(readFileSync(plan, "utf8"), installPlan, plan);
  if (id !== undefined) return id;
  throw usageError("usage", "--project-id is missing.", {
    hint: `Give the project's id or name: ${root ?? folder} has no plan that says it.`,
  });
}

/**
 * Places an application that is of another one: in the project that publishes that one's folder.
 *
 * @param folder of the program, or of the project
 * @throws UsageError `usage` where no project has that application
 */
export function initialOf(of: {
  folder: string;
  id: string;
  projectId: string;
  out: string | undefined;
  base: string;
}): InitialProject {
  const { folder, id, projectId, base } = of;
  const root = of.out ?? projectAround(folder);
  if (root === undefined || !existsSync(join(root, APPLICATIONS_FOLDER, base, APPLICATION_FILE)))
    throw usageError("usage", `No project of ${root ?? folder} has the application ${base}.`, {
      hint: "Make it first, by `sealift app init`, or name the folder of the project with --out.",
    });
  return { root, projectId, id, folder: join(root, APPLICATIONS_FOLDER, id), link: undefined };
}

/**
 * Writes what an application and its project lack. Nothing that exists is changed, but for a plan that does not install
 * the application yet: it gets a step, and keeps its comments.
 *
 * @param text of `app.yaml`
 * @param publishing options of the publication, for `sealift.yaml`
 * @returns paths that were written, those that existed, and the plan if it has got a step
 * @throws UsageError `usage` for a plan of another project; `config_invalid` for one that is not valid
 */
export async function writeInitial(
  { root, projectId, id, folder, link }: InitialProject,
  { text, publishing }: { text: string; publishing: Record<string, unknown> },
): Promise<{ written: string[]; kept: string[]; changed: string[] }> {
  const plan = join(root, PLAN_FILE);
  const grown = existsSync(plan) ? withApplication(plan, projectId, id) : undefined;
  const written: string[] = [];
  const kept: string[] = [];
  const add = async (path: string, write: () => Promise<void>): Promise<void> => {
    mkdirSync(dirname(path), { recursive: true });
    try {
      await write();
      written.push(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      kept.push(path);
    }
  };
  const file = (path: string, text: string) => add(path, () => writeFile(path, text, { flag: "wx" }));
  await file(join(folder, APPLICATION_FILE), text);
  if (link !== undefined) await add(link, () => symlink(relative(dirname(link), folder), link));
  mkdirSync(dirname(plan), { recursive: true });
  if (grown === undefined)
    await file(plan, starterPlan({ slug: projectId, items: itemsOfSource(plan), supervised: false }));
  else await writeFileAtomic(plan, grown);
  await file(join(root, "sealift.yaml"), stringify({ project_id: projectId, ...publishing }));
  return { written, kept, changed: grown === undefined ? [] : [plan] };
}

/**
 * Returns the text of a plan with a step that installs an application; undefined where it has one.
 *
 * @throws UsageError `usage` for a plan of another project; `config_invalid`
 */
function withApplication(file: string, projectId: string, id: string): string | undefined {
  const text = readFileSync(file, "utf8");
  const plan = parseYaml(text, installPlan, file);
  if (plan.project_id !== projectId)
    throw usageError("usage", `${file} belongs to the project ${plan.project_id}, not to ${projectId}.`, {
      hint: `Give --project-id ${plan.project_id}, or another folder with --out.`,
    });
  if (applicationsOf(plan).includes(id)) return undefined;
  const taken = new Set(plan.steps.map((step) => step.id));
  const prepare = plan.steps.find(({ action }) => action === "prepare")?.id;
  const name = `install-app-${id}`.replaceAll(/[^a-z0-9-]+/g, "-").slice(0, 60);
  const names = [name, ...plan.steps.map((_, index) => `${name}-${index + 2}`)];
  const step = {
    id: names.find((free) => !taken.has(free))!,
    ...{ action: "install_app", app: id },
    ...(prepare !== undefined && { depends_on: [prepare] }),
  };
  const document = parseDocument(text);
  document.addIn(["steps"], document.createNode(step, { flow: isFlow(document) }));
  return document.toString({ lineWidth: 0 });
}

/** Tells whether the steps of a plan stand on a line each. */
function isFlow(document: Document): boolean {
  const steps = document.get("steps");
  return isSeq(steps) && steps.items.every((step) => isMap(step) && step.flow === true);
}
