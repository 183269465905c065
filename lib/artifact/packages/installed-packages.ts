import { existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { isInside } from "../../support/files.ts";
import { PNPM_DEPLOY } from "../pnpm-deploy.ts";
import { type Locked, NPM_LOCKS, type PackageFile, readLockFile, readPackageFile } from "./npm-files.ts";

/** Packages that a folder needs when it runs, as they are installed below it. */

/** Folder of packages, at any depth. */
export const MODULES = "node_modules";

/** Package in a folder. */
export interface InstalledPackage {
  /** Its folder below the one that needs it: `node_modules/NAME`, or deeper. */
  path: string;
  name: string;
  version: string;
  /** Licence as the package states it, such as `MIT`; empty for none. */
  license: string;
  /** Whether its folder is a link to another one of the same tree, as npm makes it for packages of a workspace. */
  isLink: boolean;
}

/** Packages that the runtime provides for plugins, whatever they declare. */
export const PROVIDED: ReadonlySet<string> = new Set(["sealift"]);

export interface PackagesOptions {
  /** Packages that the host provides, whatever is declared; default none. */
  provided?: ReadonlySet<string> | undefined;
}

type Fault = { message: string; hint: string };

/** Lock files of other package managers, with the advice for a tree that cannot be packed. */
const OTHER_LOCKS = {
  "pnpm-lock.yaml": `\`${PNPM_DEPLOY}\` makes a folder without links: publish that one, with --with-dependencies.`,
  "yarn.lock":
    "Have yarn install plain folders (nodeLinker: node-modules in .yarnrc.yml), those for production only: " +
    "`yarn workspaces focus --production`, or `yarn install --production` with yarn 1.",
} as const;

/** File by which pnpm marks what it has installed: `pnpm deploy` of version 9 leaves no lock file. */
const PNPM_MARK = `${MODULES}/.modules.yaml`;

/** Returns the lock file by which another package manager than npm is known in a folder; undefined for none. */
export const otherLockOf = (folder: string) =>
  (Object.keys(OTHER_LOCKS) as (keyof typeof OTHER_LOCKS)[]).find((name) => existsSync(join(folder, name))) ??
  (existsSync(join(folder, PNPM_MARK)) ? "pnpm-lock.yaml" : undefined);

/** Advice where npm has made a link to a folder elsewhere. */
const COPY_LINKS =
  "`npm install --workspaces=false --install-links` there copies linked packages into node_modules, and writes a lock " +
  "file of its own.";

/** Tells whether a folder has a lock file of npm, by which its packages are packed. */
export const isLocked = (folder: string): boolean => NPM_LOCKS.some((name) => existsSync(join(folder, name)));

/** Returns the names of the packages that `package.json` declares as runtime dependencies. */
export const declaredDependencies = (folder: string): string[] =>
  Object.keys(readPackageFile(folder)?.dependencies ?? {});

/**
 * Lists the packages that a folder needs for production: those of npm's lock file, each checked against what is
 * installed, or with another manager those that are found from `package.json` on.
 *
 * @throws UsageError `usage` with every package that is missing, has another version, or lies elsewhere
 */
export function installedPackages(
  folder: string,
  { provided = new Set<string>() }: PackagesOptions = {},
): InstalledPackage[] {
  const lock = readLockFile(folder);
  const { found, faults } = lock === undefined ? reached(folder, provided) : ofLock(folder, lock, provided);
  const [first] = faults;
  if (first !== undefined) {
    const all = faults.map(({ message }) => message);
    const shown = `${all.slice(0, 20).join("; ")}${all.length > 20 ? `; and ${all.length - 20} more` : ""}`;
    throw usageError("usage", `The packages of ${folder} cannot be packed: ${shown}.`, {
      faults: all,
      hint: first.hint,
    });
  }
  return found.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

interface Found {
  found: InstalledPackage[];
  faults: Fault[];
}

/** Returns the name in a path of a package. */
const nameIn = (path: string): string => path.slice(path.lastIndexOf(`${MODULES}/`) + MODULES.length + 1);

function ofLock(folder: string, lock: Readonly<Record<string, Locked>>, provided: ReadonlySet<string>): Found {
  const found: InstalledPackage[] = [];
  const faults: Fault[] = [];
  const hint = `Run \`npm ci --omit=dev\` in ${folder}.`;
  const look = (path: string, entry: Locked): void => {
    const { version, license, optional, devOptional } = entry;
    const { stats, outside } = placeOf(folder, path);
    const installed = stats && outside === undefined ? readPackageFile(join(folder, path)) : undefined;
    if (outside !== undefined)
      faults.push({ message: `${path} is a link to ${outside}, out of this folder`, hint: COPY_LINKS });
    else if (installed === undefined) {
      if (!optional && !devOptional)
        faults.push({ message: `the lock file names ${path}, which is not installed`, hint });
    } else if (version !== undefined && installed.version !== version) {
      const is = installed.version ?? "without a version";
      faults.push({ message: `${path} is ${is}, and the lock file has ${version}`, hint });
    } else found.push(packageAt(path, installed, { isLink: stats!.isSymbolicLink(), license }));
  };
  for (const [path, entry] of Object.entries(lock)) {
    if (!`/${path}`.includes(`/${MODULES}/`) || entry.dev || entry.extraneous) continue;
    if (provided.has(path.split(/^node_modules\//)[1]?.split(`/${MODULES}/`)[0] ?? "")) continue;
    look(path, entry);
    if (!entry.link || typeof entry.resolved !== "string") continue;
    // What the linked folder has below it is found below the link as well.
    const target = `${posix.normalize(entry.resolved)}/${MODULES}/`;
    for (const [nested, below] of Object.entries(lock))
      if (nested.startsWith(target) && !below.dev)
        look(`${path}${nested.slice(target.length - MODULES.length - 2)}`, below);
  }
  return { found, faults };
}

/** Returns what is at the place of a package, and where its link leads if that is out of the folder. */
function placeOf(folder: string, path: string) {
  const place = join(folder, path);
  const stats = lstatSync(place, { throwIfNoEntry: false });
  if (stats?.isSymbolicLink() !== true) return { stats };
  try {
    return isInside(realpathSync(place), realpathSync(folder)) ? { stats } : { stats, outside: readlinkSync(place) };
  } catch {
    return { stats, outside: readlinkSync(place) };
  }
}

function packageAt(
  path: string,
  { version = "", license }: PackageFile,
  { isLink = false, license: otherwise }: { isLink?: boolean; license?: unknown } = {},
): InstalledPackage {
  return { path, name: nameIn(path), version, license: licenceOf(license) ?? licenceOf(otherwise) ?? "", isLink };
}

/** Returns the licence, such as `MIT`, also from a package that states it as an object. */
function licenceOf(said: unknown): string | undefined {
  if (typeof said === "string") return said;
  const { type } = (said ?? {}) as { type?: unknown };
  return typeof type === "string" ? type : undefined;
}

/**
 * Finds packages from `package.json` on, as Node.js finds them. For trees of pnpm and yarn in plain folders: their lock
 * files name no folders.
 */
function reached(folder: string, provided: ReadonlySet<string>): Found {
  const root = readPackageFile(folder);
  const manager = otherLockOf(folder);
  if (manager === undefined && Object.keys(root?.dependencies ?? {}).length > 0) throw unlocked(folder);
  const hint = manager === undefined ? "" : OTHER_LOCKS[manager];
  const faults: Fault[] = [];
  const found = new Map<string, InstalledPackage>();
  const waiting = root === undefined ? [] : [{ path: "", needs: root }];
  for (const { path, needs } of waiting) {
    const names = new Set([...Object.keys(needs.dependencies), ...Object.keys(needs.optionalDependencies)]);
    for (const name of names) {
      if (path === "" && provided.has(name)) continue;
      const at = nearest(folder, path, name);
      if (at !== undefined && found.has(at)) continue;
      const place = at === undefined ? undefined : placeOf(folder, at);
      if (at !== undefined && place?.stats?.isSymbolicLink() === true) {
        faults.push({ message: `${at} is a link`, hint });
        continue;
      }
      const installed = at === undefined ? undefined : readPackageFile(join(folder, at));
      if (at === undefined || installed === undefined) {
        if (!(name in needs.optionalDependencies))
          faults.push({
            message: `${path === "" ? "package.json" : path} needs ${name}, which is not installed`,
            hint,
          });
        continue;
      }
      found.set(at, packageAt(at, installed));
      waiting.push({ path: at, needs: installed });
    }
  }
  return { found: [...found.values()], faults };
}

/** Finds the folder that a package is loaded from by one in `path`: in its own packages, else in those above. */
function nearest(folder: string, path: string, name: string): string | undefined {
  for (let from = path; ; from = from.slice(0, Math.max(0, from.lastIndexOf(`${MODULES}/`) - 1))) {
    const at = posix.join(from, MODULES, name);
    if (lstatSync(join(folder, at), { throwIfNoEntry: false }) !== undefined) return at;
    if (from === "") return undefined;
  }
}

/** Returns the error for packages without a lock file: of a workspace that has one, or of no manager at all. */
function unlocked(folder: string) {
  const why = `${folder} has no lock file, and packages are packed by it.`;
  for (let at = dirname(folder); dirname(at) !== at; at = dirname(at)) {
    const hint = workspaceAdvice(at);
    if (hint !== undefined) return usageError("usage", `${why} That of ${at} is for the whole workspace.`, { hint });
  }
  return usageError("usage", why, { hint: `Run \`npm install\` in ${folder}.` });
}

/** Returns advice for a folder of a workspace, by whose workspace it is; undefined where the root is none. */
function workspaceAdvice(root: string): string | undefined {
  if (existsSync(join(root, "pnpm-workspace.yaml"))) return OTHER_LOCKS["pnpm-lock.yaml"];
  const file = readPackageFile(root);
  if (file === undefined || !("workspaces" in file)) return undefined;
  return existsSync(join(root, "yarn.lock")) ? OTHER_LOCKS["yarn.lock"] : COPY_LINKS;
}
