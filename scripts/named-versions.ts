import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

/** Words before a version of Sealift: names of images, files and tags, and words about the present one. */
const BEFORE = [
  String.raw`\bsealift(?:[:-]|/ci/\w+@v|/v|\nversion: )`,
  String.raw`\*\*Status\.\*\* `,
  String.raw`\brelease -- `,
  String.raw`\bproject-id prj_0123456789abcdef --version `,
  String.raw`\bSealift to install from npm\n +default: `,
];
const NAMED = new RegExp(String.raw`(?<=${BEFORE.join("|")})\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?`, "g");

const pages = (): string[] =>
  execFileSync("git", ["ls-files", "-z", "ops", "ci", "docs", "README.md", "CONTRIBUTING.md"], { encoding: "utf8" })
    .split("\0")
    .filter((path) => /(?:\.(?:md|ya?ml|json|cfg)|\/Containerfile)$/.test(path));

/** Returns the versions of Sealift that examples of operators and pages name, with their files. */
export const namedVersions = (): { path: string; version: string }[] =>
  pages().flatMap((path) => (readFileSync(path, "utf8").match(NAMED) ?? []).map((version) => ({ path, version })));

/** Replaces the version in such names. */
export function renameVersions(version: string): void {
  for (const path of new Set(namedVersions().map(({ path }) => path)))
    writeFileSync(path, readFileSync(path, "utf8").replaceAll(NAMED, version));
}
