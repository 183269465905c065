import { createHash } from "node:crypto";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { writeUserFile } from "../../../lib/options/user-file.ts";
import { makeFolder } from "../../../lib/support/files.ts";

/** Recent answers of hubs, in files that only their user can read: one for each hub, key and question. */

/** Time for which an answer is used without asking again, in milliseconds. */
const FRESH_MS = 60_000;
/** Time for which a stored answer replaces that of a slow or unreachable hub, in milliseconds. */
const KEPT_MS = 600_000;
/** Time for which one process may continue with a question, in milliseconds. */
const ASKING_MS = 15_000;
const MOST_FILES = 64;

export interface KeptAnswer {
  words: readonly string[];
  isFresh: boolean;
}

/** Returns the file of an answer. @param asked identifies hub, key and question */
export function answerFile(asked: readonly unknown[]): string {
  const name = createHash("sha256").update(JSON.stringify(asked)).digest("hex");
  return join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "sealift/completion", `${name}.json`);
}

/** Reads an answer, unless it is too old. */
export async function readAnswer(file: string): Promise<KeptAnswer | undefined> {
  try {
    const { at, words } = JSON.parse(await readFile(file, "utf8")) as { at: number; words: string[] };
    const age = Math.abs(Date.now() - at);
    return age < KEPT_MS ? { words, isFresh: age < FRESH_MS } : undefined;
  } catch {
    return undefined;
  }
}

/** Stores an answer, and removes files that are old or too many. */
export async function keepAnswer(file: string, words: Iterable<string>): Promise<void> {
  await writeUserFile(file, { at: Date.now(), words: [...words] });
  const folder = dirname(file);
  const files = await Promise.all(
    (await readdir(folder)).map(async (name) => {
      const path = join(folder, name);
      return { path, at: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0 };
    }),
  );
  const newest = files.toSorted((a, b) => b.at - a.at);
  const ended = newest.filter(({ at }, index) => index >= MOST_FILES || Date.now() - at > KEPT_MS);
  await Promise.all(ended.map(({ path }) => rm(path, { force: true })));
}

/** Tells whether no other process is continuing with this question. */
export async function isFirstToAsk(file: string): Promise<boolean> {
  const mark = `${file}.asked`;
  const asked = await stat(mark).catch(() => undefined);
  if (asked !== undefined && Date.now() - asked.mtimeMs > ASKING_MS) await rm(mark, { force: true });
  await makeFolder(dirname(file), 0o700);
  return writeFile(mark, "", { flag: "wx", mode: 0o600 }).then(
    () => true,
    () => false,
  );
}
