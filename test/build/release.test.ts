// Only in test:all: every file of a release is made and installed, a minute and a half of a processor.
import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import packageJson from "../../package.json" with { type: "json" };
import { ARTIFACTS, SUMS, SUMS_SIGNATURE } from "../../scripts/release/files.ts";
import { ReleaseKey } from "../../scripts/release/key.ts";
import { digestOf } from "../../scripts/release/make.ts";
import { verifyRelease } from "../../scripts/release/verify.ts";
import { fetchedNode } from "../support/programs/fetched-node.ts";
import { needs } from "../support/programs/optional.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const skip =
  needs("aarch64-linux-gnu-strip", "arm64-libstdc", "apt-ftparchive", "apt-get", "dpkg-deb", "gpg", "gpgv", "tar") ||
  (process.getuid?.() !== 0 && "needs root");
const { version } = packageJson;

t.test("a release is made and verified without a network", { skip, timeout: 1_200_000 }, async (t) => {
  const folder = temporaryFolder(t);
  const node = fetchedNode(folder, "linux-arm64", process.versions.node);
  const [release, keyFile, earlier] = [join(folder, "release"), join(folder, "secret.asc"), join(folder, "earlier")];
  const home = join(folder, "gpg");
  mkdirSync(home, { mode: 0o700 });
  const gpg = ["--homedir", home, "--batch", "--quiet"];
  execFileSync("gpg", [...gpg, "--passphrase", "", "--quick-gen-key", "Owner", "ed25519", "sign", "never"]);
  execFileSync("gpg", [...gpg, "--armor", "--output", keyFile, "--export-secret-keys"]);
  execFileSync("gpgconf", ["--homedir", home, "--kill", "all"]);
  mkdirSync(join(earlier, "pool"), { recursive: true });
  writeFileSync(join(earlier, "pool/of-before"), "");

  const alone = ["--net", "sh", "-c", 'ip link set lo up && exec "$0" "$@"'];
  const words = [version, "--dry-run", "--verify", "--uncompressed", "--node-arm64", node, "--key-file", keyFile];
  const { status, stderr } = spawnSync(
    "unshare",
    [...alone, process.execPath, "scripts/release.ts", ...words, "--apt", earlier, "--out", release],
    { encoding: "utf8" },
  );
  t.equal(status, 0, stderr);
  const files = join(release, "files");
  t.equal(globSync("*", { cwd: files }).length, ARTIFACTS.length * 4 + 3, "each file has two SBOMs and its provenance");
  t.strictSame(globSync("*", { cwd: join(release, "apt/pool") }).toSorted(), ["main", "of-before"]);

  const damaged = async (title: string, damage: (place: string) => void | Promise<void>, message: RegExp) => {
    const place = join(folder, "damaged");
    cpSync(release, place, { recursive: true });
    await damage(place);
    await t.rejects(verifyRelease(place), { message }, title);
    rmSync(place, { recursive: true });
  };
  /** Signs what is there, as whoever has the key would. */
  const signed = async (place: string, ...names: string[]) => {
    let text = readFileSync(join(place, "files", SUMS), "utf8");
    for (const name of names)
      text = text.replace(
        new RegExp(String.raw`^\w+  ${RegExp.escape(name)}$`, "m"),
        `${await digestOf(join(place, "files", name))}  ${name}`,
      );
    writeFileSync(join(place, "files", SUMS), text);
    using key = new ReleaseKey(keyFile);
    key.sign(join(place, "files", SUMS), join(place, "files", SUMS_SIGNATURE));
  };
  const tarball = `sealift-${version}.tgz`;
  await damaged(
    "a file of other bytes",
    (place) => appendFileSync(join(place, "files", tarball), "\0"),
    /^sealift-.*\.tgz is not what SHA256SUMS says/,
  );
  await damaged(
    "a list that the key has not signed",
    (place) => appendFileSync(join(place, "files", SUMS), `${"0".repeat(64)}  more\n`),
    /gpgv/,
  );
  await damaged(
    "statements about other bytes",
    async (place) => {
      appendFileSync(join(place, "files", tarball), "\0");
      await signed(place, tarball);
    },
    /^What is said of sealift-.*\.tgz is about other bytes/,
  );
  await damaged(
    "an SBOM that lacks a component",
    async (place) => {
      const name = `${tarball}.cdx.json`;
      const bill = JSON.parse(readFileSync(join(place, "files", name), "utf8")) as { components: object[] };
      bill.components.pop();
      writeFileSync(join(place, "files", name), JSON.stringify(bill));
      await signed(place, name);
    },
    /^The two SBOMs of sealift-.*\.tgz name different components/,
  );
  await damaged(
    "an SBOM that only its makers' validator refuses",
    async (place) => {
      const name = `${tarball}.cdx.json`;
      const text = readFileSync(join(place, "files", name), "utf8");
      writeFileSync(join(place, "files", name), text.replace('"type": "library"', '"type": "thing"'));
      await signed(place, name);
    },
    /^The SBOM of sealift-.*\.tgz is no CycloneDX 1\.6: .*enum/,
  );
  await damaged(
    "a list of packages that is not the signed one",
    (place) => {
      for (const list of globSync(join(place, "apt/dists/stable/main/*/Packages*"))) rmSync(list);
      for (const list of globSync(join(place, "apt/dists/stable/main/*/by-hash/*/*"))) writeFileSync(list, "");
    },
    /apt-get/,
  );
  await damaged(
    "an action that installs something else",
    (place) => writeFileSync(join(place, "action/SHA256SUMS"), `${"0".repeat(64)}  sealift-${version}-linux-x64\n`),
    /^The action installs other executables/,
  );
  t.test("a folder that holds something is left alone", async (t) => {
    const { status, stderr } = spawnSync(process.execPath, ["scripts/release.ts", ...words, "--out", release], {
      encoding: "utf8",
    });
    t.equal(status, 1);
    t.match(stderr, /is not empty: name another folder by --out/);
  });
});
