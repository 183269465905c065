import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DEFAULT_LIMITS } from "../../lib/artifact/limits.ts";
import { TarReader } from "../../lib/artifact/project/tar-reader.ts";
import { TreeWriter } from "../../lib/artifact/tree/tree-writer.ts";
import { unzip } from "../../lib/artifact/zip/unzip.ts";
import { SealiftError } from "../../lib/contract/errors.ts";
import { type ForgedMember, forgedTar } from "../../test/support/forged/artifact.ts";
import { type ForgedEntry, forgedZip } from "../../test/support/forged/zip.ts";
import type { Listing } from "./python-reader.ts";
import { mutated, type Random } from "./random.ts";

const NAMES = ["a", "b/c", "b/", "d/e/f", "caf\u00e9", "n".repeat(120), "x.js", "lib/x.js"];

const contentOf = (random: Random): string => "text ".repeat(random.below(300));

/** Makes a tar: sound, or with a few bytes changed. */
export function someTar(random: Random): Buffer {
  const members = NAMES.filter(() => random.once(2)).map((name): ForgedMember => {
    const isFolder = name.endsWith("/");
    return {
      name: `./${name}`,
      ...(!isFolder && { content: contentOf(random) }),
      ...(random.once(4) && { pax: { mtime: "1.5", ...(random.once(3) && { path: `./${name}` }) } }),
      ...(random.once(5) && { gnuLongName: true, pax: {} }),
    };
  });
  const tar = forgedTar(members);
  return random.once(5) ? tar : mutated(tar, random, 512);
}

/** Makes a ZIP: sound, or with a few bytes changed. */
export function someZip(random: Random): Buffer {
  const entries = NAMES.filter(() => random.once(2)).map((name): ForgedEntry => {
    const isFolder = name.endsWith("/");
    return {
      name,
      ...(!isFolder && { content: contentOf(random), method: random.pick([0, 8]) }),
      ...(!isFolder && random.once(4) && { descriptor: true as const }),
      ...(random.once(5) && { zip64: true }),
      madeBy: random.pick([0, 3]),
    };
  });
  const zip = forgedZip({ entries, zip64: random.once(4), comment: random.once(4) ? "comment" : "" });
  return random.once(5) ? zip : mutated(zip, random, 22);
}

function listingOf(folder: string): Listing {
  const found: Listing = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length + 1);
    found[name] = entry.isDirectory() ? null : createHash("sha256").update(readFileSync(path)).digest("hex");
  }
  return found;
}

/**
 * Unpacks with the product into `folder`. @returns undefined when it refuses @throws anything that is not its own
 * error
 */
export async function ours(
  kind: "tar" | "zip",
  bytes: Buffer,
  folder: string,
  random: Random,
): Promise<Listing | undefined> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  try {
    if (kind === "tar") unpackTar(bytes, folder, random);
    else await unpackZip(bytes, folder);
    return listingOf(folder);
  } catch (error) {
    if (error instanceof SealiftError && error.code !== "internal") return undefined;
    throw error;
  }
}

/** In pieces of any size: what is read must not depend on where the pieces end. */
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

async function unpackZip(bytes: Buffer, folder: string): Promise<void> {
  const file = `${folder}.zip`;
  writeFileSync(file, bytes);
  await unzip(file, folder, { limits: DEFAULT_LIMITS, symlinks: "refuse" });
}
