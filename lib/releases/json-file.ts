import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type * as z from "zod";
import { writeFileAtomic } from "../support/files.ts";

/** Reads one of our own JSON files; `undefined` when it is missing or not what we wrote. */
export async function readJsonFile<T extends z.ZodType>(path: string, schema: T): Promise<z.output<T> | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Replaces one of our own JSON files as a whole. */
export async function writeJsonFile(path: string, value: unknown): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFileAtomic(path, `${JSON.stringify(value)}\n`);
}
