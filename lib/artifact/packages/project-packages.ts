import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { SealiftError } from "../../contract/errors.ts";
import { APPLICATIONS_FOLDER } from "../../contract/files/application-names.ts";
import { missing } from "../../support/files.ts";
import { declaredDependencies, installedPackages, isLocked, MODULES, PROVIDED } from "./installed-packages.ts";
import { PackageTree } from "./package-tree.ts";

/** Choice of the folders of a project whose npm packages are packed. */
export interface PackageChoice {
  /** Applications with a lock file of npm. Default true. */
  ofApplications?: boolean | undefined;
  /** Every application, plugin and service that declares packages. Default false. */
  ofAll?: boolean | undefined;
}

/**
 * Finds the installed packages of a project's folders.
 *
 * @param pluginsFolder folder of the project that holds its plugins
 * @throws UsageError `usage` with the faults of all folders
 */
export function projectPackages(
  root: string,
  pluginsFolder: string,
  { ofApplications = true, ofAll = false }: PackageChoice = {},
): PackageTree {
  const tree = new PackageTree();
  const errors: SealiftError[] = [];
  const add = (folder: string, provided?: ReadonlySet<string>): void => {
    try {
      tree.add(folder, installedPackages(join(root, folder), { provided }));
    } catch (error) {
      if (!(error instanceof SealiftError)) throw error;
      errors.push(error);
    }
  };
  for (const folder of foldersIn(root, APPLICATIONS_FOLDER))
    if (ofAll ? declares(join(root, folder)) : ofApplications && isLocked(join(root, folder))) add(folder);
  for (const section of ofAll ? [pluginsFolder, "extensions"] : [])
    for (const folder of foldersIn(root, section)) if (declares(join(root, folder))) add(folder, PROVIDED);
  const [first] = errors;
  if (first === undefined) return tree;
  throw new SealiftError(first.kind, first.code, errors.map(({ message }) => message).join(" "), {
    faults: errors.flatMap(({ faults, message }) => faults ?? [message]),
    ...(first.hint !== undefined && { hint: first.hint }),
  });
}

/**
 * Describes applications whose packages are not packed although they need some.
 *
 * @param isPacked tells whether a path of the project is packed, by whichever choice
 */
export function unpackedNotes(
  root: string,
  packages: PackageTree,
  isPacked: (path: string) => boolean,
  { ofApplications = true }: PackageChoice = {},
): string[] {
  if (!ofApplications) return [];
  return foldersIn(root, APPLICATIONS_FOLDER).flatMap((folder) => {
    if (packages.covers(folder) || !existsSync(join(root, folder, "package.json"))) return [];
    // `--include node_modules` packs a folder of packages as it is.
    const needed = declaredDependencies(join(root, folder)).filter((name) => !isPacked(`${folder}/${MODULES}/${name}`));
    if (needed.length === 0) return [];
    const named =
      needed.length > 3 ? `${needed.slice(0, 3).join(", ")} and ${needed.length - 3} more` : needed.join(", ");
    return [
      `${folder} needs ${named}, and without a lock file of npm none is packed: give --with-dependencies, or have ` +
        "the host install them.",
    ];
  });
}

/** Tells whether a folder needs packages at all. */
const declares = (folder: string): boolean =>
  isLocked(folder) || (existsSync(join(folder, "package.json")) && declaredDependencies(folder).length > 0);

/** Lists the folders in a section of the project, as paths from its root. */
function foldersIn(root: string, section: string): string[] {
  try {
    const paths = readdirSync(join(root, section)).map((name) => `${section}/${name}`);
    // An application may be a link to the folder of a repository.
    return paths.filter((path) => statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true);
  } catch (error) {
    if (missing(error)) return [];
    throw error;
  }
}
