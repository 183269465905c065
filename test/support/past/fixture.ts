/** Hub, hosts and a person of a release, unpacked for a test (test/fixtures/README.md). */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { constants, zstdDecompressSync } from "node:zlib";
import type { Test } from "tap";
import { type ReleaseName, RELEASES } from "../../../scripts/older-build.ts";
import type { RecordedAnswer } from "../../../scripts/past/answers.ts";
import type { Fleet } from "../../../scripts/past/fleet.ts";
import { type Harbour, systemctlFor } from "../../../scripts/past/harbour.ts";
import type { Market } from "../../../scripts/past/market.ts";
import type { Person } from "../../../scripts/past/person.ts";
import type { Shop } from "../../../scripts/past/shop.ts";
import { Programs } from "../../../scripts/quickstart/programs.ts";
import { freePort } from "../free-port.ts";
import { movedClock } from "../host/starved.ts";
import { programFile } from "../programs/optional.ts";
import { temporaryFolder } from "../temporary-folder.ts";

/** Releases whose files are kept. */
export const PAST_RELEASES = Object.keys(RELEASES) as ReleaseName[];
const archiveOf = (release: ReleaseName): string =>
  fileURLToPath(new URL(`../../fixtures/sealift-${release}.tar.zst`, import.meta.url));
/** Parts whose texts name the folder and the hub. What the hub has stored names the folder as it was. */
const NAMING = ["facts.json", "hosts", "config", "roots"];

type Secrets = Record<string, string>;

interface Facts {
  /** When its hub was stopped. */
  made_at: string;
  folder: string;
  hub_url: string;
  harbour: Harbour;
  market: Market;
  fleet: Fleet;
  /** Unknown to 0.1.0, which has no applications. */
  shop?: Shop;
  person: Person;
}

/** The folder of a release, in which every path and URL is that of this test. */
export interface Past extends Facts {
  /** Today's programs; their clock stands at the time when the fixture was made. */
  programs: Programs;
  clock: Secrets;
  /** Administrator's answers of the hub of that release, by their paths. */
  answers: Record<string, RecordedAnswer>;
  admin: Secrets;
  path: (...parts: string[]) => string;
  /** Environment of an agent whose systemctl knows what runs in a root. */
  systemctl: (root: string) => Secrets;
  /** Serves a data folder with today's hub, at the URL that all files name. */
  serve: (dataDir?: string, databaseUrl?: string) => Promise<void>;
}

/** Unpacks by tar: Node sets times to the microsecond, and a file with another time is a damaged one to a release. */
function unpack(bytes: Buffer, folder: string): void {
  const args = ["--extract", "--preserve-permissions", "--no-same-owner", "--file=-", "--directory", folder];
  execFileSync(programFile("tar"), args, { input: bytes });
}

/** Replaces texts in every file below a path, but for times of modification. */
function replaceIn(path: string, pairs: readonly (readonly [string, string])[]): void {
  if (statSync(path).isDirectory()) {
    for (const entry of readdirSync(path, { withFileTypes: true }))
      if (!entry.isSymbolicLink()) replaceIn(join(path, entry.name), pairs);
    return;
  }
  const before = readFileSync(path, "latin1");
  const after = pairs.reduce((text, [from, to]) => text.replaceAll(from, to), before);
  if (after === before) return;
  const { atime, mtime } = statSync(path);
  writeFileSync(path, after, "latin1");
  utimesSync(path, atime, mtime);
}

/** A host tells its own root from a copy by the mark in its state: the unpacked root is the host's own. */
function markRoots(roots: string): void {
  for (const root of readdirSync(roots)) {
    const sealift = join(roots, root, ".sealift");
    const { ino, birthtimeNs } = statSync(sealift, { bigint: true });
    for (const name of readdirSync(join(sealift, "state")).filter((each) => each.startsWith("deployed-"))) {
      const file = join(sealift, "state", name);
      const { folder } = JSON.parse(readFileSync(file, "utf8")) as { folder: string };
      replaceIn(file, [[folder, `${ino}-${birthtimeNs}`]]);
    }
  }
}

/** Unpacks what a release left behind; needs tar. Programs that run in it end with the test. */
export async function unpackPast(t: Test, release: ReleaseName = "0.1.0"): Promise<Past> {
  const folder = temporaryFolder(t);
  const params = { [constants.ZSTD_d_windowLogMax]: 27 };
  unpack(zstdDecompressSync(readFileSync(archiveOf(release)), { params }), folder);
  const read = <T>(name: string): T => JSON.parse(readFileSync(join(folder, name), "utf8")) as T;
  const made = read<Facts>("facts.json");
  const url = `http://127.0.0.1:${await freePort()}`;
  const pairs: [string, string][] = [
    [made.folder, folder],
    [made.hub_url, url],
  ];
  const port = await freePort();
  if (made.shop !== undefined) pairs.push([`127.0.0.1:${made.shop.port}`, `127.0.0.1:${port}`]);
  for (const part of NAMING) replaceIn(join(folder, part), pairs);
  replaceIn(join(folder, "answers.json"), [[made.hub_url, url]]);
  markRoots(join(folder, "roots"));
  const programs = new Programs(folder);
  t.teardown(() => programs[Symbol.asyncDispose]());
  const { env: clock } = movedClock(t, Date.parse(made.made_at) - Date.now());
  const path = (...parts: string[]): string => join(folder, ...parts);
  const facts = read<Facts>("facts.json");
  return {
    ...facts,
    ...(facts.shop !== undefined && { shop: { ...facts.shop, port } }),
    ...{ programs, clock, path },
    systemctl: (root) => ({ ...clock, ...systemctlFor({ path }, root) }),
    answers: read("answers.json"),
    admin: { ...clock, SEALIFT_HUB_URL: url, SEALIFT_API_KEY: readFileSync(path("hub/admin.key"), "utf8").trim() },
    async serve(dataDir = path("hub"), databaseUrl) {
      const keys = databaseUrl === undefined ? [] : ["--kek-file", path("hub/kek.json")];
      const args = ["--data-dir", dataDir, "--listen", new URL(url).host, ...keys];
      const secrets = databaseUrl === undefined ? {} : { SEALIFT_DATABASE_URL: databaseUrl };
      await programs.serve("hub-serve", args, { ...clock, ...secrets });
    },
  };
}
