import { constants, existsSync, realpathSync } from "node:fs";
import { chmod, copyFile, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { packedBy, type PackingChoice } from "../../artifact/project/packed-tree.ts";
import { type ListedProject, listProject } from "../../artifact/project/project-tree.ts";
import { deploymentError, usageError } from "../../contract/errors.ts";
import type { Application } from "../../contract/files/application.ts";
import { APPLICATIONS_FOLDER, SETTINGS_TEMPLATE } from "../../contract/files/application-names.ts";
import { PLAN_FILE } from "../../contract/files/manifest.ts";
import { ifThere, makeFolder, readFault, readKeyFile } from "../../support/files.ts";

/** Settings of a trial in the folder of an application. Never packed. */
const TEST_SETTINGS = ".env";

/** Application of a project on this machine, with what is packed of it. */
export interface TrialSource {
  id: string;
  app: Application;
  /** Source tree of the project. */
  project: string;
  packed: ListedProject;
}

/**
 * Finds the project that publishes a folder: the folder itself, the one that it lies in as an application, or the one
 * that `app init` has made in it; undefined for none.
 */
export function projectAround(folder: string): string | undefined {
  const around = basename(dirname(folder)) === APPLICATIONS_FOLDER ? [dirname(dirname(folder))] : [];
  return [folder, ...around, join(folder, "deploy")].find((root) => existsSync(join(root, PLAN_FILE)));
}

/** Version of a trial, which nothing keeps. */
const VERSION = "0.0.0";

/**
 * Finds the application that a folder stands for, or the only one of a project, and lists the project as a publication
 * with the same choices does.
 *
 * @throws UsageError `usage` for none or several; `source_*` for what cannot be packed
 */
export function trialSource(folder: string, choice: PackingChoice): TrialSource {
  const project = projectAround(folder);
  if (project === undefined)
    throw usageError("usage", `No project publishes ${folder}.`, {
      hint: "Make one with `sealift app init` in that folder, or name the folder of a project or of an application in its apps/.",
    });
  const packed = listProject(project, {
    ...{ projectName: basename(project), version: VERSION },
    ...packedBy(choice),
  });
  const isNamed = (id: string): boolean =>
    project === folder || realpathSync(join(project, APPLICATIONS_FOLDER, id)) === realpathSync(folder);
  const [id, ...others] = [...packed.apps.keys()].filter(isNamed);
  if (id === undefined)
    throw usageError(
      "usage",
      `The plan of ${project} installs no application${project === folder ? "" : ` ${folder}`}.`,
      {
        hint: "Add a step to its deployment/install.yaml: {id: install-web, action: install_app, app: web}",
      },
    );
  if (others.length > 0)
    throw usageError("usage", `${project} has the applications ${[id, ...others].join(", ")}.`, {
      hint: `Name the folder of one: ${join(project, APPLICATIONS_FOLDER, id)}.`,
    });
  return { id, app: packed.apps.get(id)!, project, packed };
}

/**
 * Reads the settings of a trial: a file that is named, else `.env` of the application's folder, else its template.
 *
 * @throws DeploymentError `env_missing` with every required name that has no value; UsageError `usage`
 */
export async function trialSettings(
  { id, app, project, packed }: TrialSource,
  file: string | undefined,
): Promise<Buffer> {
  // It may be a link to the folder of a repository, which is where its author looks.
  const shared = app.of ?? id;
  const folder = realpathSync(join(project, APPLICATIONS_FOLDER, shared));
  const { environment } = packed.apps.get(shared) ?? app;
  const own = join(folder, TEST_SETTINGS);
  const content =
    file === undefined
      ? ((await ifThere(readKeyFile(own))) ?? (await ifThere(readFile(join(folder, SETTINGS_TEMPLATE)))))
      : await readKeyFile(file).catch((error: unknown) => {
          throw usageError("usage", `The settings ${file} cannot be read: ${readFault(error)}.`, { cause: error });
        });
  const values = parseEnv(content?.toString() ?? "");
  const empty = environment.required.filter((name) => (values[name] ?? "") === "");
  if (empty.length === 0) return content ?? Buffer.alloc(0);
  throw deploymentError("env_missing", `${id} needs values for ${empty.join(", ")}.`, {
    hint: `Give values for a trial in ${file ?? own}${file === undefined ? ", which is never packed, or name a file with --env-file" : ""}.`,
  });
}

/** Returns the applications whose folders a trial needs: the one that it is of first. */
export const familyOf = ({ id, app }: TrialSource): string[] => (app.of === undefined ? [id] : [app.of, id]);

/** Copies what is packed of an application and its base into a folder of a release, with the modes of hosts. */
export async function copyPacked(
  source: TrialSource,
  release: string,
  signal: AbortSignal,
): Promise<{ files: number; bytes: number }> {
  const { members } = source.packed.tree;
  let files = 0;
  let bytes = 0;
  for (const id of familyOf(source)) {
    const place = join(release, APPLICATIONS_FOLDER, id);
    await makePassable(dirname(place));
    await makePassable(place);
    for (const index of members.within(`${APPLICATIONS_FOLDER}/${id}`)) {
      signal.throwIfAborted();
      const { path, type, executable, size } = members.at(index);
      const to = join(release, path);
      if (type === "folder") {
        await makePassable(to);
        continue;
      }
      await copyFile(join(source.project, path), to, constants.COPYFILE_FICLONE);
      await chmod(to, executable ? 0o755 : 0o644);
      files++;
      bytes += size;
    }
  }
  return { files, bytes };
}

/** Makes a folder that every user may enter, whatever the umask. */
export async function makePassable(path: string): Promise<void> {
  await makeFolder(path);
  await chmod(path, 0o755);
}
