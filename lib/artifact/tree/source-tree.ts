import { lstatSync, readdirSync, readlinkSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import picomatch from "picomatch";
import { type SealiftError as Fault, SealiftError, usageError } from "../../contract/errors.ts";
import { MANIFEST_FILE } from "../../contract/files/manifest.ts";
import type { Limits } from "../limits.ts";
import { MODULES } from "../packages/installed-packages.ts";
import type { PackageTree } from "../packages/package-tree.ts";
import { isCompiled, isOfPip } from "../packages/python-packages.ts";
import { PNPM_DEPLOY } from "../pnpm-deploy.ts";
import { comparePaths } from "./compare-paths.ts";
import { MemberList } from "./member-list.ts";
import { NameRegistry } from "./name-registry.ts";
import { quoted, requireReadable, SafeNames } from "./safe-path.ts";

/** Shell globs of path components that are never packed (docs/contract/project-artifact.md). */
export const NEVER_PACKED = [
  ".venv",
  "venv",
  ".git",
  "node_modules",
  "__pycache__",
  ".pytest_cache",
  ".mypy_cache",
  ".ruff_cache",
  "*.pyc",
  ".env",
  "*.pem",
  "*.key",
  "*.p12",
  "id_rsa",
  "id_ed25519",
  "*.db",
  "*.sqlite",
  "*.sqlite3",
  // Written for this machine only, by the scaffold of a plugin.
  ".sealift",
] as const;

/** Path that was decided by a pattern, or for another reason in words. */
export interface LeftOut {
  path: string;
  pattern: string;
}

export interface SourceTree {
  root: string;
  /** Members sorted by path components; folders before their contents. */
  members: MemberList;
  /** Excluded paths, the topmost of each subtree. */
  leftOut: LeftOut[];
  /** Paths that would have been excluded, but for `include`. */
  broughtBack: LeftOut[];
  /** Paths of native addons. */
  addons: string[];
}

export interface ListingOptions {
  /** Shell globs of path components to pack although they are normally left out. */
  include?: readonly string[];
  limits: Limits;
  /** Installed packages to pack, whole and without their programs; default none. */
  packages?: PackageTree | undefined;
  /** Returns why a path of the author's own is left out although no pattern excludes it. */
  leaveOut?: (path: string) => string | undefined;
  /** Tells whether a link at a path stands for the folder that it leads to; default no link does. */
  follows?: (path: string) => boolean;
}

/**
 * Meaning of a folder for its contents: one of the author's own, to which patterns apply; one that holds packages and
 * nothing else that is packed; a package; a folder in a package; one with what pip has installed, or in it.
 */
type Inside = "own" | "way" | "package" | "part" | "pip";

/** Folder in which package managers link programs of packages. Nothing loads them from there. */
const PROGRAMS = ".bin";

const RENAME = "Rename it: agents or hubs refuse such names.";

/** Returns a function that finds the first of some patterns that matches a name. Plain names are looked up. */
function matcherOf(patterns: readonly string[]): (name: string) => string | undefined {
  const plain = new Set(patterns.filter((pattern) => /^[\w.-]+$/.test(pattern)));
  const globs = patterns.filter((pattern) => !plain.has(pattern));
  if (globs.length === 0) return (name) => (plain.has(name) ? name : undefined);
  const matches = globs.map((pattern) => ({ pattern, is: picomatch(pattern, { dot: true }) }));
  // One expression for all of them: nearly every name matches none.
  const any = new RegExp(globs.map((pattern) => picomatch.makeRe(pattern, { dot: true }).source).join("|"));
  return (name) => (plain.has(name) ? name : any.test(name) ? matches.find(({ is }) => is(name))?.pattern : undefined);
}

/**
 * Lists what would be packed of `root`, and rejects what an agent would reject: links, special files, unsafe or
 * colliding names. Leaves out a `manifest.json` at the root: the publisher makes its own.
 *
 * @throws UsageError `source_link`, `source_special`, `source_unsafe`, `limit_exceeded`, once, with every fault
 */
export function listSourceTree(root: string, options: ListingOptions): SourceTree {
  const tree: SourceTree = { root, members: new MemberList(), leftOut: [], broughtBack: [], addons: [] };
  const { packages, leaveOut, follows } = options;
  const itself = statSync(root);
  const excluding = matcherOf(NEVER_PACKED);
  const included = (options.include ?? []).map((pattern) => ({ pattern, matches: picomatch(pattern, { dot: true }) }));
  const names = { registry: new NameRegistry(), safe: new SafeNames(options.limits) };
  const faults: Fault[] = [];

  /** Tells whether a path of the author's own is packed, and notes what decided it. */
  const isOwn = (path: string, name: string): boolean => {
    const exclusion = excluding(name);
    if (exclusion !== undefined) {
      const inclusion = included.find(({ matches }) => matches(name));
      if (inclusion === undefined) {
        tree.leftOut.push({ path, pattern: exclusion });
        return false;
      }
      tree.broughtBack.push({ path, pattern: inclusion.pattern });
    }
    const reason = leaveOut?.(path);
    if (reason !== undefined) tree.leftOut.push({ path, pattern: reason });
    return reason === undefined;
  };

  /** Returns what a name in a folder is to its own contents; undefined where it is not packed. */
  const insideOf = (path: string, name: string, inside: Inside): Inside | "link" | undefined => {
    if (inside === "part") return "part";
    if (inside === "pip") return isCompiled(name) ? undefined : "pip";
    const isModules = name === MODULES;
    const place = inside === "way" || isModules ? packages?.at(path) : undefined;
    if (place === "none") return undefined;
    if (place !== undefined) return place;
    if (inside === "way") return undefined;
    if (inside === "package") return isModules ? undefined : "part";
    if (!isOwn(path, name)) return undefined;
    return isOfPip(root, path) ? "pip" : "own";
  };

  const visit = (folder: string, inside: Inside): void => {
    const entries = readdirSync(join(root, folder)).toSorted(comparePaths);
    for (const name of entries) {
      const path = folder === "" ? name : `${folder}/${name}`;
      if (path === MANIFEST_FILE) continue;
      const found = insideOf(path, name, inside);
      if (found === undefined) continue;
      if (name.includes("\ufffd")) {
        // A name that is not valid UTF-8 is read with U+FFFD in it, and no file has that name.
        faults.push(
          usageError("source_unsafe", `${quoted(path)} has a name that is not valid UTF-8.`, { hint: RENAME }),
        );
        continue;
      }
      const isFollowed = found === "link" || follows?.(path) === true;
      const stats =
        (isFollowed && statSync(`${root}/${path}`, { throwIfNoEntry: false })) || lstatSync(`${root}/${path}`);
      // A followed link may lead to a folder above the root.
      if (stats.isDirectory() && stats.ino === itself.ino && stats.dev === itself.dev) {
        tree.leftOut.push({ path, pattern: "the project itself" });
        continue;
      }
      if (stats.isSymbolicLink() && isProgramLink(folder)) {
        if (tree.leftOut.at(-1)?.path !== folder) tree.leftOut.push({ path: folder, pattern: "links to programs" });
        continue;
      }
      const fault = checkMember(root, path, stats, names);
      if (fault !== undefined) {
        faults.push(fault);
        continue;
      }
      tree.members.push(path, stats);
      if (tree.members.length > options.limits.maxEntries) {
        throw usageError("source_unsafe", `${root} holds more than ${options.limits.maxEntries} files and folders.`, {
          hint: "Leave files out, or raise --max-entries here and on every host.",
        });
      }
      if (name.endsWith(".node") && stats.isFile()) tree.addons.push(path);
      if (stats.isDirectory()) visit(path, found === "link" ? "own" : found);
    }
  };
  visit("", "own");
  const [first] = faults;
  if (first !== undefined) {
    const all = faults.map(({ message }) => message);
    throw usageError(first.code, all.slice(0, 20).join(" "), {
      faults: all,
      ...(first.hint !== undefined && { hint: first.hint }),
    });
  }
  return tree;
}

/** True for the folder of links to programs that `--include node_modules` brings back with the packages. */
const isProgramLink = (folder: string): boolean => folder.endsWith(`${MODULES}/${PROGRAMS}`);

/** Returns advice for a link that an artifact cannot hold, by who makes such links. */
function linkAdvice(root: string, path: string): string {
  if (!`/${path}`.includes(`/${MODULES}/`))
    return "Artifacts hold regular files and folders only: replace the link by what it points to. `cp -rL` copies a folder so.";
  if (`${path} ${readlinkSync(join(root, path))}`.includes(".pnpm/"))
    return `pnpm links packages: \`${PNPM_DEPLOY}\` makes a folder without links.`;
  return (
    "npm and yarn link packages of a workspace: leave out --include, and pack packages by the lock file " +
    "(--with-dependencies), or copy them with `npm install --workspaces=false --install-links`."
  );
}

function checkMember(
  root: string,
  path: string,
  stats: Stats,
  { registry, safe }: { registry: NameRegistry; safe: SafeNames },
): Fault | undefined {
  if (stats.isSymbolicLink()) {
    return usageError("source_link", `${quoted(path)} is a link.`, { hint: linkAdvice(root, path) });
  }
  if (!stats.isFile() && !stats.isDirectory()) {
    return usageError("source_special", `${quoted(path)} is neither a regular file nor a folder.`);
  }
  try {
    requireReadable(path);
    registry.add(safe.path(path), stats.isDirectory() ? "folder" : "file");
  } catch (error) {
    if (error instanceof SealiftError) return usageError("source_unsafe", error.message, { hint: RENAME });
    throw error;
  }
  return undefined;
}
