/**
 * Programs and public test data that share none of our code. A test that lacks a program says so and skips, but never
 * in CI.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

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

/** A JSON file of `test/vectors/`. */
export const vectors = <T>(path: string): T =>
  JSON.parse(readFileSync(new URL(`../../vectors/${path}`, import.meta.url), "utf8")) as T;
