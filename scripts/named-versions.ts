import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

/** Matches a version of Sealift in the name of an image, a file or a tag. */
const NAMED = /(?<=\bsealift(?:[:-]|\/ci\/\w+@v|\/v))\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?/g;

const pages = (): string[] =>
  execFileSync("git", ["ls-files", "-z", "ops", "ci", "docs", "README.md"], { encoding: "utf8" })
    .split("\0")
    .filter((path) => /\.(?:md|ya?ml|json|cfg)$/.test(path));

/** Returns the versions of Sealift that examples of operators and pages name, with their files. */
export const namedVersions = (): { path: string; version: string }[] =>
  pages().flatMap((path) => (readFileSync(path, "utf8").match(NAMED) ?? []).map((version) => ({ path, version })));

/** Replaces the version in such names. */
export function renameVersions(version: string): void {
  for (const path of new Set(namedVersions().map(({ path }) => path)))
    writeFileSync(path, readFileSync(path, "utf8").replaceAll(NAMED, version));
}
