/**
 * The single executable (`npm run build:sea`): Node.js with this package in it, as a file system that only its own
 * processes see. It runs none of our files by their paths, so whatever starts a process or a thread of ours asks here
 * how.
 */
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { isSea } from "node:sea";
import { packageFolder } from "./package-folder.ts";

/** True in the single executable. */
export const IS_ONE_FILE = isSea();

/** The word before the name of a file inside, which is run in place of a command. */
export const RUN_INSIDE = "--sealift-run";

/** The words after `process.execPath` that start a process of ours, in order. */
interface OwnProcess {
  execArgv: string[];
  script: string;
}

/**
 * Says how a process is started that runs one of our files.
 *
 * @param flags of Node
 * @param script its path; in the single executable one inside
 */
export function ownProcess(flags: readonly string[], script: string): OwnProcess {
  if (!IS_ONE_FILE) return { execArgv: [...flags], script };
  const quoted = flags.map((flag) => `"${flag.replaceAll(/["\\]/g, "\\$&")}"`).join(" ");
  return { execArgv: [`--node-options=${quoted}`, RUN_INSIDE], script: relative(packageFolder(), script) };
}

/** The text of a thread of ours in the single executable: Node starts threads from real files, or from text. */
export const threadText = (name: string): string =>
  readFileSync(join(packageFolder(), "dist/threads", `${name}.cjs`), "utf8");
