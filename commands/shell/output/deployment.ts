import type { Emit } from "../../../lib/agent/base/events.ts";
import type { DeployOptions, DeployResult } from "../../../lib/agent/deployment/run.ts";
import type { Source } from "../../../lib/agent/sources/source.ts";
import type { SealiftError } from "../../../lib/contract/errors.ts";
import { interruptible } from "../base.ts";
import type { Print } from "./print.ts";

/** Facts of a command that a renderer needs. */
export interface Surroundings {
  json: boolean;
  isForPeople: boolean;
  print: Print;
  note: (text: string) => void;
  stderr: NodeJS.WriteStream;
  fail: (error: SealiftError, result: Record<string, unknown>) => number;
  done: (result: Record<string, unknown>) => number;
}

/** Runs one deployment with the renderer that the options choose, and reports the result. @returns the exit code */
export async function showDeployment(
  source: Source,
  options: DeployOptions,
  surroundings: Surroundings,
): Promise<number> {
  const { deploy } = await import("../../../lib/agent/deployment/deploy.ts");
  return showRun((signal, emit) => deploy(source, { ...options, signal }, emit), sentence, surroundings);
}

/** Shows anything that runs like a deployment. @param sentence describes a successful end */
export async function showRun(
  perform: (signal: AbortSignal, emit: Emit) => Promise<DeployResult>,
  sentence: (result: DeployResult) => string,
  { json, print, stderr, fail, done }: Surroundings,
): Promise<number> {
  const { deployLines } = await import("./deploy-lines.ts");
  using interrupt = interruptible();
  const lines = await deployLines(stderr);
  const result = await perform(interrupt.signal, json ? print.event : lines.emit);
  lines.close();
  const { error, ...facts } = result;
  if (error !== undefined) return fail(error, facts);
  if (!json) print.line(sentence(result));
  return done(facts);
}

function sentence({ outcome, version, previous_version: previous }: DeployResult): string {
  if (outcome === "unchanged") return `unchanged: ${version} is already running`;
  return `deployed ${version}${previous === null ? "" : ` over ${previous}`}`;
}
