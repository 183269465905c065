import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import * as z from "zod";
import { missing, statsOf } from "../support/files.ts";
import type { Layout, Target } from "./layout.ts";
import { standing } from "./links.ts";
import type { Release } from "./release.ts";

/** In a release: a line of JSON for each of its files, so that a damaged release is noticed. */
export const CONTENTS_FILE = "contents.ndjson";
/** Folders of a release that its contents are listed of. */
const LISTED = ["plugins", "extensions", "shipped-data"];

const listedFile = z.object({ path: z.string(), size: z.number(), mtime_ms: z.number(), sha256: z.string() });
type ListedFile = z.infer<typeof listedFile>;

/** Returns the digest of a file when it is known already, in lower-case hex. */
export type KnownDigest = (path: string) => string | undefined;

/**
 * Lists every file of a finished release with size, time of modification and SHA-256, as a stream: memory does not grow with the release.
 * Files whose digest is not known yet are read.
 *
 * @param folder of the release
 * @returns how many files there are
 */
export async function writeContents(folder: string, known: KnownDigest): Promise<number> {
  let files = 0;
  const lines = async function* (): AsyncGenerator<string> {
    for await (const path of filesBelow(folder)) {
      files++;
      const { size, mtimeMs: mtime_ms } = await lstat(join(folder, path));
      const sha256 = known(path) ?? (await digestOf(join(folder, path)));
      yield `${JSON.stringify({ path, size, mtime_ms, sha256 } satisfies ListedFile)}\n`;
    }
  };
  await pipeline(Readable.from(lines()), createWriteStream(join(folder, CONTENTS_FILE), { flags: "wx" }));
  return files;
}

async function* filesBelow(folder: string): AsyncGenerator<string> {
  for (const name of LISTED) if ((await statsOf(join(folder, name)))?.isDirectory()) yield* walk(folder, name);
}

async function* walk(folder: string, below: string): AsyncGenerator<string> {
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    const path = `${below}/${entry.name}`;
    if (entry.isDirectory()) yield* walk(folder, path);
    else if (entry.isFile()) yield path;
  }
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

/**
 * Finds out whether a release is as it was made: every link and every file is there, with its size and time of modification, which is cheap;
 * with `digests` every byte is read, too. Nothing is known of a release that an older version of Sealift made, or of an adopted one.
 *
 * @returns the first fault that was found, as the end of a sentence
 */
export async function damageOf(
  layout: Layout,
  target: Target,
  release: Release,
  { digests = false } = {},
): Promise<string | undefined> {
  for (const item of release.items)
    if ((await standing(layout, target, item)) !== "ours") return `${layout.link(item)} is not its link`;
  const folder = layout.release(target, release.name);
  if (release.files === undefined) return undefined;
  let found = 0;
  try {
    await using contents = await open(join(folder, CONTENTS_FILE), "r");
    for await (const line of contents.readLines()) {
      found++;
      const fault = await faultOf(folder, line, digests);
      if (fault !== undefined) return fault;
    }
  } catch (error) {
    if (!missing(error)) throw error;
  }
  return found === release.files ? undefined : `its list of files has ${found} of ${release.files} lines`;
}

async function faultOf(folder: string, line: string, digests: boolean): Promise<string | undefined> {
  const listed = parsed(line);
  if (listed === undefined) return "its list of files is damaged";
  const path = join(folder, listed.path);
  const stats = await statsOf(path);
  if (stats?.isFile() !== true) return `${listed.path} is missing`;
  if (stats.size !== listed.size) return `${listed.path} has ${stats.size} bytes instead of ${listed.size}`;
  if (stats.mtimeMs !== listed.mtime_ms) return `${listed.path} was changed`;
  if (digests && (await digestOf(path)) !== listed.sha256) return `${listed.path} has other bytes`;
  return undefined;
}

function parsed(line: string): ListedFile | undefined {
  try {
    return listedFile.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
