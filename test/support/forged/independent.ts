/** What shares none of our code: programs and public test data. A test that lacks one says so and skips, but never in CI. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const inCi = process.env["CI"] === "true";

/** For tap's `skip`: false when the program is there, else the reason. @throws in CI when it is not there */
export function needsProgram(name: string, versionArgument = "--version"): string | false {
  try {
    execFileSync(name, [versionArgument], { stdio: "ignore" });
    return false;
  } catch {
    if (inCi) throw new Error(`${name} is missing: this machine cannot run the interoperability tests.`);
    return `the program ${name} is not installed`;
  }
}

const folder = process.env["SEALIFT_CORPORA"];

/** For tap's `skip`: false when the corpora are there, else the reason. @throws in CI when they are not there */
export function needsCorpora(): string | false {
  if (folder !== undefined && existsSync(folder)) return false;
  if (inCi) throw new Error("SEALIFT_CORPORA is not set or names no folder: the vectors cannot be checked.");
  return "SEALIFT_CORPORA is not set: public test vectors are kept beside the project";
}

/** A JSON file of the corpora. */
export const corpus = <T>(path: string): T => JSON.parse(readFileSync(join(folder!, path), "utf8")) as T;
