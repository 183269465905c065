import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ours, someTar, someZip } from "./archives.ts";
import { type Listing, PythonReader } from "./python-reader.ts";
import { Random } from "./random.ts";

export interface Outcome {
  cases: number;
  /** Archives that were unpacked; the others were refused. */
  accepted: number;
  /** Cases in which the product and Python disagree, or the product failed otherwise. */
  found: { kind: "tar" | "zip"; seed: number; why: string; bytes: Buffer }[];
}

/** The files of a listing: which folders are named, and which are only implied, differs between readers. */
const filesOf = (listing: Listing): [string, string][] =>
  Object.entries(listing)
    .filter((entry): entry is [string, string] => entry[1] !== null)
    .toSorted();

/** A listing without the one folder that everything lies in, which the product leaves out of a ZIP. */
function flattened(listing: Listing): Listing {
  const paths = Object.keys(listing);
  const top = paths[0]?.split("/", 1)[0];
  const prefix = `${top}/`;
  if (!paths.every((path) => path.startsWith(prefix) || (path === top && listing[path] === null))) return listing;
  return Object.fromEntries(Object.entries(listing).map(([path, sha256]) => [path.slice(prefix.length), sha256]));
}

/**
 * Unpacks many archives with the product and with Python: what the product accepts, Python must read in the same
 * way.
 */
export async function fuzzArchives(cases: number, seed: number): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "sealift-fuzz-"));
  const outcome: Outcome = { cases, accepted: 0, found: [] };
  await using python = new PythonReader();
  try {
    for (let index = 0; index < cases; index++) {
      const random = new Random(seed + index);
      const kind = index % 2 === 0 ? "tar" : "zip";
      const bytes = kind === "tar" ? someTar(random) : someZip(random);
      const why = await difference(kind, bytes, folder, random, python, outcome);
      if (why !== undefined) outcome.found.push({ kind, seed: seed + index, why, bytes });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return outcome;
}

async function difference(
  kind: "tar" | "zip",
  bytes: Buffer,
  folder: string,
  random: Random,
  python: PythonReader,
  outcome: Outcome,
): Promise<string | undefined> {
  let listing: Listing | undefined;
  try {
    listing = await ours(kind, bytes, join(folder, "tree"), random);
  } catch (error) {
    return `it fails with ${(error as Error).message}`;
  }
  if (listing === undefined) return undefined;
  outcome.accepted++;
  const file = join(folder, `case.${kind}`);
  writeFileSync(file, bytes);
  const theirs = await python.read(kind, file);
  // An empty tar, or one cut between two members, is nothing to Python's reader.
  if (theirs === undefined) return filesOf(listing).length === 0 ? undefined : "Python refuses what is unpacked";
  const expected = filesOf(kind === "zip" ? flattened(theirs) : theirs);
  return isDeepStrictEqual(filesOf(listing), expected) ? undefined : "Python reads other files";
}
