import type { ExitCode } from "../../contract/codes.ts";
import type { SealiftError } from "../../contract/errors.ts";
import type { DeployResult } from "../deployment/run.ts";
import type { WatchEvent } from "./events.ts";

/** The end of one turn: what `--once` and the back-off need to know. */
export interface TurnResult {
  target: string;
  outcome: DeployResult["outcome"] | "current" | "held" | "unpublished";
  version: string | null;
  exitCode: ExitCode;
  error?: SealiftError;
}

/** The event that ends a deployment or a rollback of a target. @param startedAt by `performance.now()` */
export const doneEvent = (target: string, result: DeployResult, startedAt: number): WatchEvent => ({
  event: "deploy.done",
  target,
  outcome: result.outcome,
  version: result.version,
  previous_version: result.previous_version,
  duration_ms: Math.round(performance.now() - startedAt),
  code: result.error?.code ?? null,
  message: result.error?.message ?? null,
  report: result.report,
});
