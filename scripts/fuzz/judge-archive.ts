import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ours, OUTSIDE, someTar, someZip } from "./archives.ts";
import { libraryListing } from "./library-readers.ts";
import { filesOf, flattened, type Listing } from "./listing.ts";
import { type Cases, fuzzEach, type Outcome, type Verdict } from "./outcome.ts";
import { programListings } from "./program-readers.ts";
import { PythonReader } from "./python-reader.ts";
import { Random } from "./random.ts";

type Kind = "tar" | "zip";

/** Names in the folder of a judge. */
const OWN_NAMES = new Set(["area", "case.tar", "case.zip", "theirs"]);

/** Judges archives by the product and by other readers. Dispose of it to end its readers and remove its folder. */
export class ArchiveJudge implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "sealift-fuzz-"));
  readonly #python = new PythonReader();
  /** Folder of the unpacked tree: nothing else may appear in it or above it. */
  readonly #area = join(this.#folder, "area");

  /**
   * Unpacks an archive with the product and, if that accepts it, with others, which must all read the same files.
   * Nothing may get outside of the folder in any case.
   *
   * @param everyProgram whether GNU tar, bsdtar and unzip are used, besides Python
   */
  async judge(kind: Kind, bytes: Buffer, random: Random, everyProgram: boolean): Promise<Verdict> {
    mkdirSync(this.#area, { recursive: true });
    const file = join(this.#folder, `case.${kind}`);
    writeFileSync(file, bytes);
    let listing: Listing | undefined;
    try {
      listing = await ours(kind, file, join(this.#area, "tree"), random);
    } catch (error) {
      return { why: `it fails with ${(error as Error).message}` };
    }
    const strangers = readdirSync(this.#folder).filter((name) => !OWN_NAMES.has(name));
    if (readdirSync(this.#area).length > 1 || strangers.length > 0 || existsSync(OUTSIDE))
      return { why: "something was written outside of the folder" };
    if (listing === undefined) return { accepted: false };
    const why = await this.#otherReading(kind, file, listing, everyProgram);
    return why === undefined ? { accepted: true } : { why };
  }

  async #otherReading(kind: Kind, file: string, listing: Listing, everyProgram: boolean): Promise<string | undefined> {
    const expected = filesOf(listing);
    const same = (theirs: Listing): boolean =>
      isDeepStrictEqual(expected, filesOf(kind === "zip" ? flattened(theirs) : theirs));
    const theirs = await this.#python.read(kind, file);
    // An empty tar, or one cut between two members, is nothing to Python's reader.
    if (theirs === undefined && expected.length > 0) return "Python refuses what is unpacked";
    if (theirs !== undefined && !same(theirs)) return "Python reads other files";
    const library = await libraryListing(kind, file);
    if (library !== undefined && !same(library.listing)) return `${library.name} reads other files`;
    if (!everyProgram) return undefined;
    const isAscii = expected.every(([path]) => /^[\0-\x7f]*$/.test(path));
    for (const { name, listing: found } of programListings(kind, file, join(this.#folder, "theirs"), isAscii))
      if (!same(found)) return `${name} reads other files`;
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#python[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/**
 * Judges many random archives.
 *
 * @param programsEvery one case in this many is given to GNU tar, bsdtar and unzip, whose start takes longer than the
 *   rest of a case
 */
export async function fuzzArchives(cases: Cases, programsEvery: number): Promise<Outcome> {
  await using judge = new ArchiveJudge();
  return await fuzzEach(cases, async (at) => {
    const random = new Random(at);
    const kind = at % 2 === 0 ? "tar" : "zip";
    const bytes = kind === "tar" ? someTar(random) : someZip(random);
    const everyProgram = Math.floor(at / 2) % programsEvery === 0;
    return { ...(await judge.judge(kind, bytes, random, everyProgram)), kind, bytes };
  });
}
