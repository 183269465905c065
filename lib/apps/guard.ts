import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LAUNCH } from "../contract/files/launch.ts";
import { OF_THE_SHELL } from "../contract/files/shell-names.ts";
import { shellWord } from "../support/shell-words.ts";
import type { RunAs } from "./user.ts";

/**
 * Programs between `app serve` and a program of an application. They run with an environment of ours and by absolute
 * paths. What the operator or a publisher has set is read last, by a shell that is the application's user already.
 */

/** Enters a control group as root, and becomes the next program. */
const ENTER = `echo 0 > "$0" || { echo "sealift: the control group cannot be entered."; exit 125; }
exec "$@"`;

/**
 * Prepares a program in its own process, as its user: it enters its folder, takes the launch's limits, and reads its
 * variables from standard input, which ends with a word of ours. Handed-over sockets are meant for this very process.
 */
const PREPARE = `cd "$1" 2>/dev/null || {
  echo "sealift: the user $2 may not enter $1: open the folders above it for others (chmod o+x)."
  exit 126
}
umask ${LAUNCH.umask}
ulimit -c ${LAUNCH.coreBytes}
ulimit -n ${LAUNCH.openFiles} 2>/dev/null
{ echo ${LAUNCH.oomScoreAdjust} > /proc/self/oom_score_adj; } 2>/dev/null
eval "$(cat)"
exec < /dev/null
[ "$1" = "told" ] || exit 125
if [ -n "$LISTEN_FDS" ]; then LISTEN_PID=$$; export LISTEN_PID; fi
exec /bin/sh "$0"`;

/**
 * Prepares a program that somebody has typed in the same way. It keeps the standard input of whoever typed it, so its
 * variables come by the next descriptor.
 */
const PREPARE_TYPED = `cd "$1" 2>/dev/null || {
  echo "sealift: the user $2 may not enter $1: open the folders above it for others (chmod o+x)." >&2
  exit 126
}
umask ${LAUNCH.umask}
ulimit -c ${LAUNCH.coreBytes}
ulimit -n ${LAUNCH.openFiles} 2>/dev/null
{ echo ${LAUNCH.oomScoreAdjust} > /proc/self/oom_score_adj; } 2>/dev/null
shift 2
eval "$(cat <&3)"
exec 3<&-
[ "$sealift_told" = told ] || exit 125
unset sealift_told
exec "$@"`;

/** Environment of the programs of a guard. */
export const GUARD_ENVIRONMENT = { PATH: LAUNCH.path };

/** Flags with which a program ends when `app serve` does, however that happens, and gains no privileges. */
const FLAGS = ["--pdeathsig", "KILL", "--no-new-privs"];

let found: string | undefined | null = null;

/** Returns the path of a `setpriv` that knows the flags, where there is one: util-linux has, BusyBox has not. */
export const setpriv = (): string | undefined => (found === null ? (found = findSetpriv()) : found);

function findSetpriv(): string | undefined {
  const files = LAUNCH.path.split(":").map((folder) => join(folder, "setpriv"));
  return files.filter((file) => existsSync(file)).find(knowsFlags);
}

/** Tells whether a `setpriv` knows the flags, by its own words: without a process for the question. */
function knowsFlags(file: string): boolean {
  const program = readFileSync(file, "latin1");
  return ["pdeathsig", "no-new-privs"].every((flag) => program.includes(flag));
}

/** Program that starts a script of an application. */
export interface Guarded {
  file: string;
  args: string[];
  /** Ids that the spawning process gives it; undefined where the guard changes the user by itself, or nobody does. */
  ids: RunAs["ids"];
}

/**
 * Returns the program that starts a script: it enters the group, becomes the user, and prepares the process.
 *
 * @param script relative to `folder`
 * @param entrance file of the control group to enter; needs {@link setpriv}, and root
 */
export const guarded = (script: string, folder: string, user: RunAs, entrance?: string): Guarded =>
  guardedBy([PREPARE, script, folder, user.name], user, entrance);

/**
 * Returns the program that starts words as they were typed. Its variables come by descriptor 3
 * ({@link typedStatementsOf}).
 *
 * @param entrance as for {@link guarded}
 */
export const guardedTyped = (words: readonly string[], folder: string, user: RunAs, entrance?: string): Guarded =>
  guardedBy([PREPARE_TYPED, "sh", folder, user.name, ...words], user, entrance);

function guardedBy(shell: readonly string[], user: RunAs, entrance: string | undefined): Guarded {
  const inner = ["/bin/sh", "-c", ...shell];
  const path = setpriv();
  if (path === undefined) return { file: inner[0]!, args: inner.slice(1), ids: user.ids };
  const change =
    user.ids === undefined ? [] : ["--reuid", `${user.ids.uid}`, "--regid", `${user.ids.gid}`, "--init-groups"];
  const words = [path, ...change, ...FLAGS, ...inner];
  const [file, ...args] = entrance === undefined ? words : ["/bin/sh", "-c", ENTER, entrance, ...words];
  return { file: file!, args, ids: undefined };
}

/**
 * Returns the standard input of a guard: statements that set variables, and the word that ends them.
 * Names that are none of a shell do not reach the program.
 */
export const statementsOf = (environment: Readonly<Record<string, string>>): string =>
  `${exportsOf(environment)}set -- told\n`;

/** Returns the variables for {@link guardedTyped}: its words stay. */
export const typedStatementsOf = (environment: Readonly<Record<string, string>>): string =>
  `${exportsOf(environment)}sealift_told=told\n`;

function exportsOf(environment: Readonly<Record<string, string>>): string {
  const lines = Object.entries(environment)
    .filter(([name]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !OF_THE_SHELL.has(name))
    .map(([name, value]) => `command export ${name}=${shellWord(value)}\n`);
  return lines.join("");
}
