import { type BigIntStats, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import picomatch from "picomatch";
import { type SealiftError as Fault, SealiftError, usageError } from "../../contract/errors.ts";
import { MANIFEST_FILE } from "../../contract/files/manifest.ts";
import type { Limits } from "../limits.ts";
import { NameRegistry, quoted, safeComponents } from "./safe-path.ts";
import { comparePaths } from "./tree-digest.ts";

/** Shell globs over single path components that are never packed (docs/contract/project-artifact.md). */
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
] as const;

/** One folder or regular file of a source tree. Files carry what tells later that they did not change. */
export interface SourceMember {
  /** POSIX, relative to the root; never empty. */
  path: string;
  type: "folder" | "file";
  executable: boolean;
  /** Bytes; 0 for a folder. */
  size: number;
  stamp: string;
}

export interface SourceTree {
  root: string;
  /** Sorted by path components; folders before their contents. */
  members: SourceMember[];
  /** Paths that an exclusion kept out: the topmost path of each. */
  leftOut: { path: string; pattern: string }[];
  /** Paths that an exclusion would have kept out and `include` brought back. */
  broughtBack: { path: string; pattern: string }[];
}

const RENAME = "Rename it: agents refuse such names.";

/** Changes whenever a file's content may have changed. */
export const stampOf = (stats: BigIntStats): string =>
  `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`;

/**
 * Lists what would be packed of `root`, and refuses what an agent would refuse: links, special files, unsafe or colliding names.
 * A `manifest.json` at the root is left out: the publisher makes its own.
 *
 * @throws UsageError `source_link`, `source_special`, `source_unsafe`, `limit_exceeded`, once, with every fault
 */
export function listSourceTree(root: string, options: { include?: readonly string[]; limits: Limits }): SourceTree {
  const tree: SourceTree = { root, members: [], leftOut: [], broughtBack: [] };
  const excluded = NEVER_PACKED.map((pattern) => ({ pattern, matches: picomatch(pattern, { dot: true }) }));
  const included = (options.include ?? []).map((pattern) => ({ pattern, matches: picomatch(pattern, { dot: true }) }));
  const names = new NameRegistry();
  const faults: Fault[] = [];

  const visit = (folder: string): void => {
    const entries = readdirSync(join(root, folder)).toSorted(comparePaths);
    for (const name of entries) {
      const path = folder === "" ? name : `${folder}/${name}`;
      if (path === MANIFEST_FILE) continue;
      const exclusion = excluded.find(({ matches }) => matches(name));
      if (exclusion !== undefined) {
        const inclusion = included.find(({ matches }) => matches(name));
        if (inclusion === undefined) {
          tree.leftOut.push({ path, pattern: exclusion.pattern });
          continue;
        }
        tree.broughtBack.push({ path, pattern: inclusion.pattern });
      }
      if (name.includes("\ufffd")) {
        // A name that is not valid UTF-8 is read with U+FFFD in it, and under that name there is no file.
        faults.push(
          usageError("source_unsafe", `${quoted(path)} has a name that is not valid UTF-8.`, { hint: RENAME }),
        );
        continue;
      }
      const stats = lstatSync(join(root, path), { bigint: true });
      const fault = checkMember(path, stats, names, options.limits);
      if (fault !== undefined) {
        faults.push(fault);
        continue;
      }
      const type = stats.isDirectory() ? "folder" : "file";
      const size = type === "file" ? Number(stats.size) : 0;
      tree.members.push({ path, type, executable: (stats.mode & 0o100n) !== 0n, size, stamp: stampOf(stats) });
      if (tree.members.length > options.limits.maxEntries) {
        throw usageError("source_unsafe", `${root} holds more than ${options.limits.maxEntries} files and folders.`, {
          hint: "Leave files out, or raise --max-entries here and on every host.",
        });
      }
      if (type === "folder") visit(path);
    }
  };
  visit("");
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

function checkMember(path: string, stats: BigIntStats, names: NameRegistry, limits: Limits): Fault | undefined {
  if (stats.isSymbolicLink()) {
    return usageError("source_link", `${quoted(path)} is a link.`, {
      hint: "Artifacts hold regular files and folders only: replace the link by what it points to.",
    });
  }
  if (!stats.isFile() && !stats.isDirectory()) {
    return usageError("source_special", `${quoted(path)} is neither a regular file nor a folder.`);
  }
  try {
    names.add(safeComponents(path, limits), stats.isDirectory() ? "folder" : "file");
  } catch (error) {
    if (error instanceof SealiftError) return usageError("source_unsafe", error.message, { hint: RENAME });
    throw error;
  }
  return undefined;
}
