import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { asSealiftError, deploymentError, usageError } from "../../lib/contract/errors.ts";
import type { Layout } from "../../lib/releases/layout.ts";
import { closeInherited } from "../../lib/support/inherited-descriptors.ts";
import { printableLines } from "../../lib/support/printable.ts";

/** Options of {@link runServed}. */
export interface ServedRun {
  id: string;
  words: readonly string[];
  allowForeignRoot?: boolean;
  note: (text: string) => void;
  begins?: () => void;
}

/** Runs words in the place of an application of `app serve`. @returns their exit code @throws SealiftError */
export async function runServed(layout: Layout, { allowForeignRoot = false, ...run }: ServedRun): Promise<number> {
  const [{ runTyped }, { ServeFault }, { openProjectRoot }] = await Promise.all([
    import("../../lib/apps/run.ts"),
    import("../../lib/apps/serve-fault.ts"),
    import("../../lib/releases/project-root.ts"),
  ]);
  closeInherited();
  await using root = await openProjectRoot(layout, { allowForeignRoot });
  try {
    return await runTyped(root.layout, run);
  } catch (thrown) {
    if (!(thrown instanceof ServeFault)) throw asSealiftError(thrown);
    const { code, message } = thrown;
    if (code === "not_granted") throw (await import("../../lib/agent/applications/not-allowed.ts")).notAllowed(message);
    if (code === "not_installed") throw deploymentError("app_not_installed", message);
    throw usageError("config_invalid", message);
  }
}

/**
 * Runs `app run ID [--project-root PATH] -- COMMAND` without loading what other forms and commands need: a person waits
 * for it.
 *
 * @param words after `app run`
 * @returns the exit code; undefined, with nothing done, for every other form and for whatever cannot be run, which the
 *   command itself tells
 */
export async function runAtOnce(words: readonly string[], env = process.env): Promise<number | undefined> {
  const plain = plainForm(words, env);
  if (plain === undefined) return undefined;
  const [{ layoutOf }, { readGrants }] = await Promise.all([
    import("../../lib/releases/layout.ts"),
    import("../../lib/releases/applications.ts"),
  ]);
  let hasBegun = false;
  try {
    const { id, root, command } = plain;
    const layout = layoutOf(resolve(root));
    if ((await readGrants(layout))?.supervisor !== "serve") return undefined;
    const begins = (): void => void (hasBegun = true);
    const note = (text: string): void => void process.stderr.write(`${printableLines(text)}\n`);
    return await runServed(layout, { id, words: command, note, begins });
  } catch (thrown) {
    if (!hasBegun) return undefined;
    const { describeError } = await import("../shell/output/failure.ts");
    const error = asSealiftError(thrown);
    process.stderr.write(describeError(error));
    return error.exitCode;
  }
}

/** Variables of ours that say nothing about a run. */
const NO_OPTIONS = new Set(["SEALIFT_LAUNCHER_PID", "SEALIFT_PROJECT_ROOT", "SEALIFT_HUB_URL", "SEALIFT_API_KEY"]);

/** Takes the plain form of a command line apart; undefined for another one, or where more than the line counts. */
function plainForm(words: readonly string[], env: NodeJS.ProcessEnv) {
  const [id = "", ...rest] = words;
  const named = rest[0] === "--project-root" && rest[2] === "--" ? rest[1]! : undefined;
  const command = rest.slice(named === undefined ? 1 : 3);
  // An id names files.
  const isPlain = (named !== undefined || rest[0] === "--") && /^[a-z0-9][a-z0-9_.-]{0,127}$/.test(id);
  const isAlone = Object.keys(env).every((name) => !/^(?:SEALIFT|OTEL)_/.test(name) || NO_OPTIONS.has(name));
  if (!isPlain || !isAlone || env.CREDENTIALS_DIRECTORY !== undefined || existsSync("sealift.yaml")) return undefined;
  if (command[0] === undefined || command[0].startsWith("-")) return undefined;
  return { id, root: named ?? (env.SEALIFT_PROJECT_ROOT || "."), command };
}
