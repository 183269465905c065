import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { join } from "node:path";
import coerce from "semver/functions/coerce.js";
import satisfies from "semver/functions/satisfies.js";
import { deploymentError } from "../../contract/errors.ts";
import { isJob } from "../../contract/files/application-kinds.ts";
import { printable } from "../../support/printable.ts";
import { childEnvironment, describeFailure, runProgram } from "../base/child-program.ts";
import type { Applications } from "./descriptors.ts";

/** Folders in which the programs of applications are looked for, whatever the agent's own PATH. */
export const PROGRAM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** Program that ends the run of a job, or of a health command, in time. */
export const LIMITER = "timeout";
/** Time limit for a program to state its version, in milliseconds. */
const VERSION_TIMEOUT_MS = 10_000;

/** Returns the absolute path of a program in one of some folders. */
export async function programAt(name: string, folders = PROGRAM_PATH): Promise<string | undefined> {
  for (const folder of folders.split(":")) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile() !== true) continue;
    const isExecutable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isExecutable) return path;
  }
  return undefined;
}

/**
 * Requires the programs that applications start or need, in the versions that they need.
 *
 * @throws DeploymentError `needs_unmet` with every fault
 */
export async function requirePrograms(apps: Applications, signal: AbortSignal, folders = PROGRAM_PATH): Promise<void> {
  const faults: string[] = [];
  for (const [id, app] of apps) {
    const { command, migrate, health, needs } = app;
    const isLimited = isJob(app) || health.command !== undefined;
    const started = [command[0], migrate?.[0], health.command?.[0], isLimited ? LIMITER : undefined].flatMap((name) =>
      name?.includes("/") === false ? [name] : [],
    );
    for (const name of new Set([...started, ...Object.keys(needs)])) {
      const fault = await faultOf(name, needs[name], folders, signal);
      if (fault !== undefined) faults.push(`${id} needs ${name}${needs[name] ? ` ${needs[name]}` : ""}: ${fault}`);
    }
  }
  if (faults.length === 0) return;
  throw deploymentError("needs_unmet", `The host lacks what applications need: ${faults.join("; ")}.`, {
    faults,
    hint: `Nothing was switched. Install it in one of the folders of ${folders}.`,
  });
}

async function faultOf(
  name: string,
  range: string | undefined,
  folders: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const path = await programAt(name, folders);
  if (path === undefined) return "it is not installed";
  if (range === undefined) return undefined;
  const command = [path, "--version"] as const;
  const env = childEnvironment({ PATH: PROGRAM_PATH, LC_ALL: "C" });
  const result = await runProgram({ command, env, timeoutMs: VERSION_TIMEOUT_MS, signal });
  signal.throwIfAborted();
  if (result.code !== 0) return `\`${path} --version\` failed: ${describeFailure(result, VERSION_TIMEOUT_MS)}`;
  const [line = ""] = (result.stdout || result.tail).split("\n");
  const version = coerce(line, { includePrerelease: true });
  if (version === null) return `\`${path} --version\` states no version: ${printable(line.slice(0, 100))}`;
  return satisfies(version, range, { includePrerelease: true }) ? undefined : `${path} is ${version.version}`;
}
