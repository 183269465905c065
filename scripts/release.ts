/**
 * `npm run release -- VERSION`: writes the version and the changelog's heading, commits, and makes a signed tag.
 * Without VERSION it takes that of the heading, which may have its date already. Pushing the tag starts
 * `.github/workflows/release.yml`. `--dry-run` only says what it would do; with `--verify` it makes every file of the
 * release, too, signed by a new key, and verifies each without a network. `--tag TAG --notes FILE` is for that
 * workflow: it checks that tag, package.json and changelog agree, and writes the release's notes; with `--out FOLDER`
 * and `--key-file FILE` it makes the files there. `--apt FOLDER` is the apt repository so far, and `--libraries FOLDER`
 * what `npm run build:libraries` has fetched for the images.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import semver from "semver";
import { scriptArguments } from "./arguments.ts";
import { renameVersions } from "./named-versions.ts";
import { rehearse } from "./release/rehearse.ts";

const { values, positionals } = scriptArguments(import.meta.filename, {
  allowPositionals: true,
  options: {
    "dry-run": { type: "boolean", default: false },
    verify: { type: "boolean", default: false },
    tag: { type: "string" },
    notes: { type: "string" },
    out: { type: "string" },
    "key-file": { type: "string" },
    "node-arm64": { type: "string" },
    libraries: { type: "string" },
    apt: { type: "string" },
    uncompressed: { type: "boolean", default: false },
  },
});

const fail = (message: string): never => {
  console.error(message);
  process.exit(1);
};
const git = (...args: string[]): string => execFileSync("git", args, { encoding: "utf8" }).trim();
const npm = (...args: string[]): unknown => execFileSync("npm", args, { stdio: "inherit" });
const read = (path: string): string => readFileSync(path, "utf8");

const changelog = read("CHANGELOG.md");
const [, heading = "", text = ""] = /^(## .+)\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(changelog) ?? [];
const { version: current } = JSON.parse(read("package.json")) as { version: string };

/** Makes and verifies the files of this checkout's version. */
const makeFiles = (): Promise<void> =>
  rehearse({
    ...{ out: values.out, keyFile: values["key-file"], libraries: values.libraries, apt: values.apt },
    ...{ nodeArm64: values["node-arm64"], isCompressed: !values.uncompressed },
  }).catch((error: unknown) => fail((error as Error).message));

if (values.tag !== undefined) {
  const version = values.tag.replace(/^v/, "");
  if (version !== current) fail(`The tag is ${values.tag}, but package.json says ${current}.`);
  if (!heading.startsWith(`## ${version} (20`)) fail(`CHANGELOG.md begins with "${heading}", not with ${version}.`);
  if (values.notes !== undefined) writeFileSync(values.notes, text.trim() + "\n");
  if (values.out !== undefined) await makeFiles();
  process.exit();
}

const UNRELEASED = "## Unreleased";
const [, headed = "", when = ""] = /^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$/.exec(heading) ?? [];
const isDated = when !== "unreleased" && heading !== UNRELEASED;
const version = semver.valid(positionals[0] ?? headed) ?? "";
if (version === "") fail("Name the version: npm run release -- 1.2.0");
if (semver.lt(version, current)) fail(`${version} is lower than ${current}, the version in package.json.`);
if (git("tag", "--list", `v${version}`) !== "") fail(`The tag v${version} exists.`);
if (isDated && headed !== version)
  fail(`CHANGELOG.md begins with "${heading}": give ${version} the heading "${UNRELEASED}".`);
const dirty = git("status", "--porcelain");
if (dirty !== "" && !values["dry-run"]) fail(`Commit or remove these first:\n${dirty}`);

const dated = isDated ? heading : `## ${version} (${new Date().toISOString().slice(0, 10)})`;
const steps: [string, () => unknown][] = [
  [
    `write version ${version} to package.json and package-lock.json`,
    () => npm("version", version, "--no-git-tag-version", "--allow-same-version"),
  ],
  [`write version ${version} to the images and tags of ops/, ci/ and docs/`, () => renameVersions(version)],
  [
    `have the changelog's heading be "${dated}"`,
    () =>
      writeFileSync(
        "CHANGELOG.md",
        changelog.replace(heading, () => dated),
      ),
  ],
  ["build and pack, which checks licences and size", () => npm("run", "pack")],
  [
    `commit "Release ${version}", unless all of that is committed`,
    () => git("status", "--porcelain") !== "" && git("commit", "-sam", `Release ${version}`),
  ],
  [
    `make the signed tag v${version}`,
    () => git("tag", "-s", `v${version}`, "-m", `Release ${version}\n\n${text.trim()}`),
  ],
];
for (const [what, take] of steps) {
  console.log(values["dry-run"] ? `would ${what}` : what);
  if (!values["dry-run"]) take();
}
console.log(`Then: git push --follow-tags. The workflow "release" tests, packs, attests and publishes ${version}.`);
if (values.verify) {
  if (!values["dry-run"]) fail("--verify is for a rehearsal: npm run release -- VERSION --dry-run --verify");
  await makeFiles();
}
