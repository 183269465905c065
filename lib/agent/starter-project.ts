import { mkdirSync, readFileSync, statSync } from "node:fs";
import { symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { parseDocument, stringify } from "yaml";
import { usageError } from "../contract/errors.ts";
import { APPLICATION_FILE, APPLICATIONS_FOLDER } from "../contract/files/application-names.ts";
import { PLAN_FILE } from "../contract/files/manifest.ts";
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
 * Writes what an application and its project lack. Nothing that exists is changed.
 *
 * @param descriptor text of `app.yaml`
 * @returns paths that were written, and those that existed
 * @throws UsageError `usage` where an existing plan does not install the application
 */
export async function writeInitial(
  { root, projectId, id, folder, link }: InitialProject,
  descriptor: string,
): Promise<{ written: string[]; kept: string[] }> {
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
  await file(join(folder, APPLICATION_FILE), descriptor);
  if (link !== undefined) await add(link, () => symlink(relative(dirname(link), folder), link));
  const plan = join(root, PLAN_FILE);
  mkdirSync(dirname(plan), { recursive: true });
  await file(plan, starterPlan({ slug: projectId, items: itemsOfSource(plan), supervised: false }));
  if (kept.includes(plan)) requireInstalled(plan, id);
  await file(join(root, "sealift.yaml"), stringify({ project_id: projectId }));
  return { written, kept };
}

/** Requires that an existing plan installs an application. @throws UsageError `usage` */
function requireInstalled(plan: string, id: string): void {
  const steps: unknown = parseDocument(readFileSync(plan, "utf8")).get("steps");
  if (JSON.stringify(steps).includes(`"app":${JSON.stringify(id)}`)) return;
  throw usageError("usage", `${plan} exists and does not install ${id}.`, {
    hint: `Add a step: {id: install-${id}, action: install_app, app: ${id}}`,
  });
}
