import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { DEFAULT_LIMITS } from "../../lib/artifact/limits.ts";
import { TarReader } from "../../lib/artifact/project/tar-reader.ts";
import { TreeWriter } from "../../lib/artifact/tree/tree-writer.ts";
import { unzip } from "../../lib/artifact/zip/unzip.ts";
import { SealiftError } from "../../lib/contract/errors.ts";
import { type ForgedMember, forgedTar } from "../../test/support/forged/artifact.ts";
import { FOLDER, type ForgedEntry, forgedZip, LINK } from "../../test/support/forged/zip.ts";
import { type Listing, listingOf } from "./listing.ts";
import { mutated, type Random } from "./random.ts";

const NAMES = ["a", "b/c", "b/", "d/e/f", "caf\u00e9", "n".repeat(120), "x.js", "lib/x.js"];
/** File that no archive may make. */
export const OUTSIDE = "/sealift-fuzz-outside";
/** Names that lead out of a folder, or that some readers take for such. */
const HOSTILE = ["../up", "b/../../up", OUTSIDE, "b\\..\\up", "./b/./c", "a/", "A", "cafe\u0301", "C:up", "b//c"];

const someNames = (random: Random): string[] => {
  const names = NAMES.filter(() => random.once(2));
  return random.once(6) ? [...names, random.pick(HOSTILE)] : names;
};

const contentOf = (random: Random): string => "text ".repeat(random.below(300));

/** Makes a tar: sound, or with a few bytes changed. */
export function someTar(random: Random): Buffer {
  const members = someNames(random).map((name): ForgedMember => {
    const isFolder = name.endsWith("/");
    return {
      name: name.startsWith("/") ? name : `./${name}`,
      ...(random.once(30) && {
        type: random.pick(["1", "2", "3", "6", "7", "g", "S"]),
        linkname: random.pick(["..", "a"]),
      }),
      ...(!isFolder && { content: contentOf(random) }),
      ...(random.once(4) && { pax: { mtime: "1.5", ...(random.once(3) && { path: `./${name}` }) } }),
      ...(random.once(5) && { gnuLongName: true, pax: {} }),
    };
  });
  const tar = forgedTar(members);
  if (random.once(5)) return tar;
  const changed = mutated(tar, random, BLOCK);
  return random.once(3) ? changed : withChecksums(changed);
}

const BLOCK = 512;
const CHECKSUM_AT = 148;

/** Makes the checksums of all headers right again: any reader refuses another one, and so looks no further. */
function withChecksums(tar: Buffer): Buffer {
  for (let at = 0; at + BLOCK <= tar.length; at += BLOCK) {
    const block = tar.subarray(at, at + BLOCK);
    if (block.toString("latin1", 257, 262) !== "ustar") continue;
    block.fill(" ", CHECKSUM_AT, CHECKSUM_AT + 8);
    const sum = block.reduce((total, byte) => total + byte, 0);
    block.write(`${sum.toString(8).padStart(6, "0")}\0 `, CHECKSUM_AT, "latin1");
  }
  return tar;
}

/** Makes a ZIP: sound, or with a few bytes changed. */
export function someZip(random: Random): Buffer {
  const entries = someNames(random).map((name): ForgedEntry => {
    const isFolder = name.endsWith("/");
    return {
      name,
      ...(!isFolder && { content: contentOf(random), method: random.pick([0, 8]) }),
      ...(!isFolder && random.once(4) && { descriptor: true as const }),
      ...(random.once(5) && { zip64: true }),
      ...(random.once(30) && { mode: random.pick([LINK, FOLDER, 0o020644, 0]) }),
      madeBy: random.pick([0, 3]),
    };
  });
  const zip = forgedZip({ entries, zip64: random.once(4), comment: random.once(4) ? "comment" : "" });
  return random.once(5) ? zip : mutated(zip, random, 22);
}

/**
 * Unpacks a file with the product into `folder`.
 *
 * @returns undefined when it is rejected @throws anything that is not the product's own error
 */
export async function ours(
  kind: "tar" | "zip",
  file: string,
  folder: string,
  random: Random,
): Promise<Listing | undefined> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  try {
    if (kind === "tar") unpackTar(readFileSync(file), folder, random);
    else await unzip(file, folder, { limits: DEFAULT_LIMITS, symlinks: "refuse" });
    return listingOf(folder);
  } catch (error) {
    if (error instanceof SealiftError && error.code !== "internal") return undefined;
    throw error;
  }
}

/** Unpacks a tar in pieces of any size: the result must not depend on where pieces end. */
function unpackTar(bytes: Buffer, folder: string, random: Random): void {
  const tree = new TreeWriter(folder, DEFAULT_LIMITS);
  const reader = new TarReader(tree);
  try {
    for (let at = 0; at < bytes.length;) {
      const piece = random.pick([1, 100, 511, 512, 4096, 1_000_000]);
      reader.push(bytes.subarray(at, at + piece));
      at += piece;
    }
    reader.end();
  } finally {
    tree.close();
  }
}
