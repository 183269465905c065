import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";

/** Folder of applications in a project root. */
const FOLDER = "apps";

/**
 * Returns the names under which the units, user and data of an application may stand, in this order: its id, and for a
 * root that is not the first with this id on its host, one that names the root, too.
 */
export function instancesOf(id: string, projectRoot: string): [first: string, further: string] {
  const root = createHash("sha256").update(projectRoot).digest("hex").slice(0, 8);
  return [id, `${id}-${root}`];
}

/** Returns the folder in which the unit of an application runs. */
export const workingDirectory = (id: string, projectRoot: string): string => `${projectRoot}/${FOLDER}/${id}`;

/**
 * Returns the project root of a unit, by the folder in which it runs; undefined for one that is not of our form, which
 * an operator has written.
 */
export function rootOfUnit(id: string, folder: string | undefined): string | undefined {
  const end = `/${FOLDER}/${id}`;
  return folder?.endsWith(end) === true ? folder.slice(0, -end.length) : undefined;
}

/** Tells whether two paths lead to one project root. */
export const isOneRoot = (first: string, second: string): boolean => real(first) === real(second);

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
