import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type * as z from "zod";
import { ifThere, makeFolder, writeFileAtomic } from "../support/files.ts";

/**
 * Reads one of Sealift's own JSON files; undefined when it is missing or not valid. For files that can be recreated:
 * `journal.ts` reads the journal, and refuses what it does not know.
 */
export async function readJsonFile<T extends z.ZodType>(path: string, schema: T): Promise<z.output<T> | undefined> {
  const text = await ifThere(readFile(path, "utf8"));
  try {
    if (text === undefined) return undefined;
    const { safelyParsed } = await import("../support/documents/safe-parse.ts");
    return safelyParsed(schema, JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/**
 * Replaces one of Sealift's own JSON files atomically.
 *
 * @param durable whether it is on the disk when this returns
 */
export async function writeJsonFile(
  path: string,
  value: unknown,
  { durable = true, mode = 0o644 } = {},
): Promise<void> {
  await makeFolder(dirname(path));
  await writeFileAtomic(path, `${JSON.stringify(value)}\n`, { durable, mode });
}
