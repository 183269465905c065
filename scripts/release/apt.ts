/** An apt repository as files, which any web server serves. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import packageJson from "../../package.json" with { type: "json" };
import { PLATFORMS } from "../build/platforms.ts";
import { PUBLIC_KEY } from "./files.ts";
import type { ReleaseKey } from "./key.ts";

const SUITE = "stable";
const POOL = "pool/main/s/sealift";
const ARCHITECTURES = Object.values(PLATFORMS).map(({ debian }) => debian);

/** Settings of apt for the repository. `URIS` stands for the address that it is served from. */
const SOURCES = `Types: deb
URIs: URIS
Suites: ${SUITE}
Components: main
Signed-By: /etc/apt/keyrings/${PUBLIC_KEY}
`;

/**
 * Adds packages to a repository, and signs its lists anew. Packages that are there already stay.
 *
 * @param epoch time of the lists, in seconds
 */
export function addToRepository(repository: string, debs: readonly string[], key: ReleaseKey, epoch: number): void {
  const archive = (...words: string[]): Buffer =>
    execFileSync("apt-ftparchive", words, { cwd: repository, stdio: ["ignore", "pipe", "pipe"] });
  mkdirSync(join(repository, POOL), { recursive: true });
  for (const deb of debs) copyFileSync(deb, join(repository, POOL, basename(deb)));
  const suite = join(repository, "dists", SUITE);
  rmSync(suite, { recursive: true, force: true });
  for (const architecture of ARCHITECTURES) {
    const folder = join(suite, `main/binary-${architecture}`);
    const packages = archive("--arch", architecture, "packages", POOL);
    const byHash = join(folder, "by-hash/SHA256");
    mkdirSync(byHash, { recursive: true });
    for (const [name, content] of Object.entries({ Packages: packages, "Packages.gz": gzipSync(packages) })) {
      writeFileSync(join(folder, name), content);
      // A list that a mirror or cache has from before the release does not fit the new index: apt asks by digest.
      writeFileSync(join(byHash, createHash("sha256").update(content).digest("hex")), content);
    }
  }
  const fields = {
    ...{ Origin: "Sealift", Label: "Sealift", Suite: SUITE, Codename: SUITE, Components: "main" },
    ...{ Architectures: ARCHITECTURES.join(" "), Description: packageJson.description, "Acquire-By-Hash": "yes" },
    Date: new Date(epoch * 1000).toUTCString().replace("GMT", "UTC"),
  };
  const options = Object.entries(fields).flatMap(([name, value]) => [
    "-o",
    `APT::FTPArchive::Release::${name}=${value}`,
  ]);
  const index = join(suite, "Release");
  writeFileSync(index, archive(...options, "release", `dists/${SUITE}`));
  key.signText(index, join(suite, "InRelease"));
  key.sign(index, join(suite, "Release.gpg"));
  key.write(join(repository, PUBLIC_KEY));
  writeFileSync(join(repository, "sealift.sources"), SOURCES);
}
