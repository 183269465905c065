/**
 * Support for the single executable (`npm run build:sea`): Node.js with this package in it, as a file system that only
 * its own processes see. It cannot run its files by their paths, so whatever starts a process or a thread gets the way
 * from here.
 */
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { isSea } from "node:sea";
import { packageFolder } from "./package-folder.ts";

/** True in the single executable. */
export const IS_ONE_FILE = isSea();

/** Word before the name of an embedded file that is run instead of a command. */
export const RUN_INSIDE = "--sealift-run";

/** Words after `process.execPath` that start a process of this program, in order. */
interface OwnProcess {
  execArgv: string[];
  script: string;
}

/**
 * Returns how to start a process that runs one of this program's files.
 *
 * @param flags of Node
 * @param script its path; in the single executable an embedded one
 */
export function ownProcess(flags: readonly string[], script: string): OwnProcess {
  if (!IS_ONE_FILE) return { execArgv: [...flags], script };
  const quoted = flags.map((flag) => `"${flag.replaceAll(/["\\]/g, "\\$&")}"`).join(" ");
  return { execArgv: [`--node-options=${quoted}`, RUN_INSIDE], script: relative(packageFolder(), script) };
}

/** Returns the text of an embedded thread: Node starts threads from real files, or from text. */
export const threadText = (name: string): string =>
  readFileSync(join(packageFolder(), "dist/threads", `${name}.cjs`), "utf8");
