import { lstatSync } from "node:fs";
import { join } from "node:path";
import { familyFaults, folderOwner } from "../../artifact/project/application-families.ts";
import { applicationFaults, type Found } from "../../artifact/project/application-faults.ts";
import { artifactError, type SealiftError } from "../../contract/errors.ts";
import { type Application, application } from "../../contract/files/application.ts";
import { APPLICATION_FILE, APPLICATIONS_FOLDER } from "../../contract/files/application-names.ts";
import { missing, statsOf } from "../../support/files.ts";
import { readYamlFile } from "../../support/yaml-file.ts";

/** Applications of a release by their ids, each with its checked descriptor. */
export type Applications = ReadonlyMap<string, Application>;

const invalid = (id: string, faults: string[]): SealiftError => {
  const file = `${APPLICATIONS_FOLDER}/${id}/${APPLICATION_FILE}`;
  return artifactError("app_invalid", `${file} is not valid: ${faults.join("; ")}.`, {
    faults,
    hint: "Nothing was installed. Ask the publisher to correct it.",
  });
};

/**
 * Reads the descriptors of applications and compares them with their folders (docs/contract/application.md).
 *
 * @param tree verified, with `apps/<id>`
 * @throws ArtifactError `app_invalid` with every fault of the first one that is not valid
 */
export async function arrivingApplications(tree: string, ids: readonly string[]): Promise<Applications> {
  const found = await descriptorsIn(tree, ids);
  for (const [id, fault] of familyFaults(found)) throw invalid(id, [fault]);
  const kindIn = (id: string) => (path: string) => kindAt(join(tree, APPLICATIONS_FOLDER, id, path));
  for (const [id, app] of found) {
    const shared = folderOwner(found, id);
    const { data } = found.get(shared)!;
    const faults = applicationFaults({ ...app, data }, kindIn(shared), kindIn(id));
    if (faults.length > 0) throw invalid(id, faults);
  }
  return found;
}

/** Reads the descriptors of a kept release, which were compared when they came. @throws ArtifactError `app_invalid` */
export async function descriptorsIn(folder: string, ids: readonly string[]): Promise<Applications> {
  const found = new Map<string, Application>();
  for (const id of ids) found.set(id, await readDescriptor(join(folder, APPLICATIONS_FOLDER, id), id));
  return found;
}

async function readDescriptor(folder: string, id: string): Promise<Application> {
  const file = join(folder, APPLICATION_FILE);
  if ((await statsOf(file))?.isFile() !== true) throw invalid(id, ["it is missing, or no file"]);
  return readYamlFile(file, application, (_message, faults) => invalid(id, faults));
}

function kindAt(path: string): Found {
  try {
    const stats = lstatSync(path);
    if (stats.isDirectory()) return "folder";
    return stats.isFile() && (stats.mode & 0o100) !== 0 ? "program" : "file";
  } catch (error) {
    if (missing(error)) return undefined;
    throw error;
  }
}
