import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { type Listing, listingOf } from "./listing.ts";

/** Time limit of a reader in milliseconds; beyond it there is nothing to compare with. */
const TIMEOUT_MS = 30_000;

interface ProgramReader {
  name: string;
  command: (archive: string, folder: string) => [string, ...string[]];
  /** Set for a program that reads non-ASCII names in an older encoding, whatever the archive says. */
  asciiOnly?: true;
}

const tarLike =
  (program: string): ProgramReader["command"] =>
  (archive, folder) => [program, "-x", "--no-same-owner", "--no-same-permissions", "-f", archive, "-C", folder];

const bsdtar: ProgramReader = { name: "bsdtar", command: tarLike("bsdtar") };

/** Programs that unpack archives, none of them Sealift's. */
const READERS: Record<"tar" | "zip", readonly ProgramReader[]> = {
  tar: [{ name: "GNU tar", command: tarLike("tar") }, bsdtar],
  zip: [
    { name: "unzip", command: (archive, folder) => ["unzip", "-qq", "-o", archive, "-d", folder], asciiOnly: true },
    bsdtar,
  ],
};

/** Names of the readers' programs, for tests that need them. */
export const READER_PROGRAMS = ["tar", "bsdtar", "unzip", "python3"] as const;

/**
 * Unpacks an archive with each program, in turn into `folder`. Yields only what is accepted silently: a program that
 * refuses, or warns, has told the person that something is wrong with the archive.
 *
 * @param isAscii whether all names in the archive are ASCII
 */
export function* programListings(
  kind: "tar" | "zip",
  archive: string,
  folder: string,
  isAscii: boolean,
): Generator<{ name: string; listing: Listing }> {
  for (const { name, command, asciiOnly = false } of READERS[kind]) {
    if (asciiOnly && !isAscii) continue;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const [program, ...args] = command(archive, folder);
    const { status } = spawnSync(program, args, {
      stdio: "ignore",
      timeout: TIMEOUT_MS,
      env: { ...process.env, LC_ALL: "C.UTF-8" },
    });
    // Modes in the archive may lock out their owner, unless that is root.
    spawnSync("chmod", ["-R", "u+rwX", folder], { stdio: "ignore" });
    if (status === 0) yield { name, listing: listingOf(folder) };
  }
}
