import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { YAML_LIMITS } from "../support/documents/limits.ts";
import { readTextFile, statsOf, writeFileAtomic } from "../support/files.ts";
import { programVersion } from "../support/program-version.ts";
import { serveFolder } from "./applications.ts";
import type { Layout } from "./layout.ts";

/** Text of a YAML file, and what this version of Sealift made of it. */
interface Recalled {
  program: string;
  text: string;
  value: unknown;
}

/**
 * Reads a YAML file whose parser takes long to load. What was made of the same text before is kept in the folder of
 * `app serve`, which only its own user may open; without such a folder nothing is kept.
 *
 * @param name of the file there
 * @param parse reads the text, or the file where it cannot be read
 */
export async function recalledYaml<T>(
  layout: Layout,
  file: string,
  name: string,
  parse: (text: string | undefined) => Promise<T>,
): Promise<T> {
  const text = await readTextFile(file, YAML_LIMITS.maxBytes).catch(() => undefined);
  if (text === undefined) return parse(undefined);
  const kept = join(serveFolder(layout), `${name}.parsed`);
  const program = programVersion();
  const found = await readRecalled(kept);
  if (found?.text === text && found.program === program) return found.value as T;
  const value = await parse(text);
  if (await isOurs(dirname(kept)))
    await writeFileAtomic(kept, JSON.stringify({ program, text, value } satisfies Recalled), {
      ...{ durable: false, mode: 0o600 },
    }).catch(() => undefined);
  return value;
}

async function readRecalled(file: string): Promise<Recalled | undefined> {
  try {
    if (!(await isOurs(dirname(file)))) return undefined;
    await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { uid, mode } = await handle.stat();
    if (uid !== process.getuid?.() || (mode & 0o077) !== 0) return undefined;
    return JSON.parse(await handle.readFile("utf8")) as Recalled;
  } catch {
    return undefined;
  }
}

/** True for a folder that only this user can open. */
async function isOurs(folder: string): Promise<boolean> {
  const stats = await statsOf(folder);
  return stats?.isDirectory() === true && stats.uid === process.getuid?.() && (stats.mode & 0o077) === 0;
}
