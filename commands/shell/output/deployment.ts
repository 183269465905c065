import type { DeployOptions, DeployResult } from "../../../lib/agent/deployment/run.ts";
import type { Source } from "../../../lib/agent/sources/source.ts";
import type { SealiftError } from "../../../lib/contract/errors.ts";
import { interruptible, type Print } from "../base.ts";

interface Surroundings {
  json: boolean;
  print: Print;
  stderr: NodeJS.WriteStream;
  fail: (error: SealiftError, result: Record<string, unknown>) => number;
  done: (result: Record<string, unknown>) => number;
}

/** Runs one deployment with the renderer that the options ask for, and says how it went. @returns the exit code */
export async function showDeployment(
  source: Source,
  options: DeployOptions,
  { json, print, stderr, fail, done }: Surroundings,
): Promise<number> {
  const [{ deployLines }, { deploy }] = await Promise.all([
    import("./deploy-lines.ts"),
    import("../../../lib/agent/deployment/deploy.ts"),
  ]);
  using interrupt = interruptible();
  const lines = await deployLines(stderr);
  const result = await deploy(source, { ...options, signal: interrupt.signal }, json ? print.event : lines.emit);
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
