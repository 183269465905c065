import { readdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { INTERRUPTED } from "../../contract/blame.ts";
import { asSealiftError, deploymentError } from "../../contract/errors.ts";
import { layoutOf } from "../../releases/layout.ts";
import { counted } from "../../support/counted.ts";
import { ifThere } from "../../support/files.ts";
import { childEnvironment, describeFailure, runProgram } from "../base/child-program.ts";
import type { Emit } from "../base/events.ts";
import { refuseDowngrade } from "../deployment/admit.ts";
import { deploy } from "../deployment/deploy.ts";
import type { DeployOptions, DeployResult } from "../deployment/run.ts";
import type { Source } from "../sources/source.ts";
import type { ProgramFile } from "./program-file.ts";

/** Folder of a version with the programs, whose names end with their platform. */
const PROGRAMS = "plugins/sealift";
const CHECK_TIMEOUT_MS = 300_000;

/**
 * Upgrades the single executable to a version of a project, which is fetched, verified and reported like any other.
 * Before the switch the new program must pass its own `self-check`; any failure keeps the present one.
 *
 * @param file the executable, opened
 * @param present version of this program
 * @param platform such as `linux-x64`
 */
export async function upgrade(
  source: Source,
  options: DeployOptions,
  file: ProgramFile,
  present: string,
  emit: Emit,
  platform = `${process.platform}-${process.arch}`,
): Promise<DeployResult> {
  let next: string | undefined;
  const prepare = async (tree: string, signal: AbortSignal): Promise<void> => {
    const program = await programIn(tree, platform);
    if (await file.isSameAs(program)) return;
    next = await file.copyBeside(program);
    await prove(next, signal);
    emit({ event: "verify.ok", check: "program" });
  };
  const proving: Source = {
    ...source,
    async resolve(context) {
      const resolved = await source.resolve(context);
      // Before its first upgrade a project root has no record of the running version.
      refuseDowngrade(source, options, present, resolved.version);
      return {
        ...resolved,
        async fetch(given) {
          const fetched = await resolved.fetch(given);
          await prepare(fetched.tree, given.signal);
          return fetched;
        },
      };
    },
  };
  const result = await deploy(proving, options, emit);
  try {
    if (result.error !== undefined) return result;
    // The project root may be ahead of the program: after a kill between the two, or after `upgrade back`.
    const { target } = source;
    const release = layoutOf(resolve(options.projectRoot)).release(target, result.release!);
    if (next === undefined) await prepare(release, options.signal ?? new AbortController().signal);
    if (next === undefined) return { ...result, outcome: "unchanged" };
    await file.switchTo(next);
    next = undefined;
    return { ...result, outcome: "deployed" };
  } catch (thrown) {
    const interrupted = options.signal?.aborted === true;
    const error = interrupted ? deploymentError("interrupted", INTERRUPTED) : asSealiftError(thrown);
    return { ...result, status: "failed", outcome: "failed", error };
  } finally {
    if (next !== undefined) await rm(next, { force: true });
  }
}

/** Finds the program of a platform. @throws DeploymentError `program_missing` */
async function programIn(tree: string, platform: string): Promise<string> {
  const folder = join(tree, PROGRAMS);
  const names = (await ifThere(readdir(folder))) ?? [];
  const found = names.filter((name) => name.endsWith(`-${platform}`));
  if (found.length === 1) return join(folder, found[0]!);
  const many = found.length === 0 ? "no file" : counted(found.length, "file");
  throw deploymentError("program_missing", `The version has ${many} ${PROGRAMS}/…-${platform}.`, {
    hint: "Publish one for each platform of your hosts (docs/installing.md).",
  });
}

/** Runs a program's self-check at its final place. @throws DeploymentError `program_unfit` */
async function prove(program: string, signal: AbortSignal): Promise<void> {
  const result = await runProgram({
    command: [program, "self-check"],
    env: childEnvironment(),
    timeoutMs: CHECK_TIMEOUT_MS,
    signal,
  });
  signal.throwIfAborted();
  if (result.code === 0) return;
  const failed = /^FAILED.*$/m.exec(result.stdout)?.[0] ?? describeFailure(result, CHECK_TIMEOUT_MS);
  throw deploymentError("program_unfit", `The new program's self-check failed: ${failed}.`, {
    hint: "The present program goes on. Try the new one by hand on such a machine: sealift self-check",
  });
}
