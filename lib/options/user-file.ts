import { existsSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { usageError } from "../contract/errors.ts";
import { makeFolder, writeFileAtomic } from "../support/files.ts";

/** JSON files of one user: below `XDG_CONFIG_HOME`, else `~/.config`, with mode 0600. */

/** Returns the user's home, or a nonexistent folder for a user unknown to the system, as in containers. */
function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return "/nonexistent";
  }
}

/** Returns the path of a user file. */
export const userFile = (name: string, environment: NodeJS.ProcessEnv = process.env): string =>
  join(environment.XDG_CONFIG_HOME || join(homeFolder(), ".config"), "sealift", name);

/**
 * Reads a user file, or returns undefined without one.
 *
 * @param isOurs tells whether Sealift wrote the content
 * @param hint advice for a file that cannot be used
 * @throws UsageError `credential_unreadable` when other users may read it, or Sealift did not write its content
 */
export function readUserFile<T extends object>(
  file: string,
  isOurs: (found: T) => boolean,
  hint: string,
): T | undefined {
  if (!existsSync(file)) return undefined;
  const refuse = (why: string, advice = hint) =>
    usageError("credential_unreadable", `${file} ${why}.`, { hint: advice });
  if ((statSync(file).mode & 0o077) !== 0)
    throw refuse("may be read by other users", `Run \`chmod 600 ${file}\`. Or: ${hint}`);
  let found: T;
  try {
    found = JSON.parse(readFileSync(file, "utf8")) as T;
    if (isOurs(found)) return found;
  } catch (error) {
    throw refuse(`cannot be read: ${(error as Error).message}`);
  }
  if (Number((found as { v?: unknown } | null)?.v) > 1)
    throw refuse("was written by a newer version of Sealift", `Use that version. Or: ${hint}`);
  throw refuse("was not written by Sealift");
}

/** Replaces a user file atomically; its folder gets mode 0700. */
export async function writeUserFile(file: string, content: object): Promise<void> {
  await makeFolder(dirname(file), 0o700);
  await writeFileAtomic(file, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
}
