/** Repository of the GitHub action: its scripts, and the digests of the program that they install. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { ARTIFACTS } from "./files.ts";

const FILES = [
  "ci/github/action.yml",
  "ci/github/install.sh",
  "ci/github/README.md",
  "ci/publish.sh",
  "ci/summary.js",
  "LICENSE",
];

/** Returns the lines of the executables. @param sums lines of a list of SHA-256 digests */
function executables(sums: string): string {
  const names = new Set(ARTIFACTS.filter(({ kind }) => kind === "executable").map(({ name }) => name));
  const lines = sums.split("\n").filter((line) => names.has(line.slice(66)));
  if (lines.length !== names.size) throw new Error("The list of digests lacks an executable.");
  return `${lines.join("\n")}\n`;
}

/** Writes the files of the repository. @param sums lines of a list of SHA-256 digests, which names the executables */
export function writeAction(folder: string, sums: string): void {
  mkdirSync(folder, { recursive: true });
  for (const file of FILES) copyFileSync(file, join(folder, basename(file)));
  // Its scripts are no module of a package.
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  writeFileSync(join(folder, "SHA256SUMS"), executables(sums));
}

/** Whether the repository names the executables of a list of digests. */
export const namesExecutables = (folder: string, sums: string): boolean =>
  readFileSync(join(folder, "SHA256SUMS"), "utf8") === executables(sums);
