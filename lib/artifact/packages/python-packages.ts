import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { APPLICATIONS_FOLDER } from "../../contract/files/application-names.ts";

/** Folder into which `pip install --target` puts the packages of a program, to be packed. */
export const PYTHON_PACKAGES = "packages";

const PLACE = new RegExp(`^${APPLICATIONS_FOLDER}/[^/]+/${PYTHON_PACKAGES}$`);

/**
 * Tells whether pip has installed packages into a folder of a project: it has written there what it knows of each.
 *
 * @param path of the folder from the root of the project: only that of an application counts
 */
export const isOfPip = (root: string, path: string): boolean =>
  PLACE.test(path) &&
  lstatSync(join(root, path)).isDirectory() &&
  readdirSync(join(root, path)).some((name) => name.endsWith(".dist-info"));

/** Tells whether a name in it is what a run of Python leaves there. */
export const isCompiled = (name: string): boolean => name === "__pycache__" || name.endsWith(".pyc");
