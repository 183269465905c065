/** The files of a release, made and verified. */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { isOfThisMachine, type Processor } from "../build/platforms.ts";
import { step } from "../build/step.ts";
import { PROCESSORS } from "./files.ts";
import { ReleaseKey } from "./key.ts";
import { makeRelease } from "./make.ts";
import { verifyRelease } from "./verify.ts";

export interface RehearsalOptions {
  /** Folder that keeps the files, an empty or new one; undefined for one that is removed. */
  out: string | undefined;
  /** Secret key of releases; undefined for a new one. */
  keyFile: string | undefined;
  /** Node.js for arm64; undefined for that of npm's registry, or of npm's cache. */
  nodeArm64: string | undefined;
  /** Folder of Debian packages, a folder for each processor, as `npm run build:libraries` fetches them. */
  libraries: string | undefined;
  /** Repository of earlier releases; undefined for a new one. */
  apt: string | undefined;
  isCompressed: boolean;
}

/** Returns a Node.js for another processor, of the version that runs this. npm asks its cache first. */
function nodeOf(processor: Processor, folder: string): string {
  const wanted = `node-linux-${processor}@${process.versions.node}`;
  const words = ["pack", wanted, "--prefer-offline", "--silent", "--pack-destination", folder];
  try {
    execFileSync("npm", words, { stdio: "pipe" });
  } catch (error) {
    throw new Error(`npm has no ${wanted}: connect this machine once, or name its program by --node-${processor}.`, {
      cause: error,
    });
  }
  const [tarball = ""] = globSync(join(folder, `node-linux-${processor}-*.tgz`));
  execFileSync("tar", ["--extract", "--file", tarball, "--directory", folder, "package/bin/node"]);
  return join(folder, "package/bin/node");
}

/**
 * Makes every file of a release of this checkout, and verifies each.
 *
 * @throws Error that says what is wrong with which file
 */
export async function rehearse(options: RehearsalOptions): Promise<void> {
  const { out, keyFile, nodeArm64, libraries, apt, isCompressed } = options;
  const work = mkdtempSync(join(tmpdir(), "sealift-release-"));
  try {
    const release = out === undefined ? join(work, "release") : resolve(out);
    mkdirSync(release, { recursive: true });
    if (readdirSync(release).length > 0) throw new Error(`${release} is not empty: name another folder by --out.`);
    const given: Partial<Record<Processor, string | undefined>> = { arm64: nodeArm64 };
    const nodes = await step("find Node.js for each processor", () =>
      PROCESSORS.map((processor): [Processor, string] => [
        processor,
        given[processor] ?? (isOfThisMachine(processor) ? process.execPath : nodeOf(processor, work)),
      ]),
    );
    const packages = PROCESSORS.map((processor) => [processor, join(libraries ?? "", processor)] as const);
    using key = new ReleaseKey(keyFile);
    await makeRelease(release, {
      ...{ key, apt, isCompressed },
      nodes: Object.fromEntries(nodes) as Record<Processor, string>,
      libraries: Object.fromEntries(libraries === undefined ? [] : packages.filter(([, folder]) => existsSync(folder))),
    });
    await verifyRelease(release);
    if (out !== undefined) console.log(`${release} holds the release.`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
