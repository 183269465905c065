import { setTimeout as sleep } from "node:timers/promises";
import { deploymentError } from "../../contract/errors.ts";
import { describeFailure } from "../base/child-program.ts";
import { inquire, PROGRAM_TIMEOUT_MS, READY_TIMEOUT_MS, type Sample, tryToSupervise } from "./supervisor.ts";
import type { USAGE_PROPERTIES } from "./unit-usage.ts";

export type SystemdScope = "system" | "user";

/** Returns a command line of `systemctl`. */
export const systemctl = (scope: SystemdScope, verb: string, ...rest: string[]): [string, ...string[]] => [
  "systemctl",
  `--${scope}`,
  "--no-ask-password",
  verb,
  ...rest,
];

/** Properties of a unit that are asked for; absent where systemd does not know them. */
type Properties = Partial<
  Record<
    | "Id"
    | "LoadState"
    | "ActiveState"
    | "SubState"
    | "Result"
    | "NRestarts"
    | "MainPID"
    | "User"
    | "StateChangeTimestamp"
    | "WorkingDirectory"
    | "ExecCondition"
    | "InvocationID"
    | "ConditionResult"
    | "ExecMainCode"
    | "ExecMainStatus"
    | "ExecMainStartTimestampMonotonic"
    | "ExecMainExitTimestampMonotonic"
    | "ActiveEnterTimestampMonotonic"
    | (typeof USAGE_PROPERTIES)[number],
    string
  >
>;

/**
 * Reads properties of units, one record each in the order asked for.
 *
 * @param more properties beside those of their state
 * @returns what is wrong instead, if anything
 */
async function unitProperties(
  scope: SystemdScope,
  units: readonly string[],
  timeoutMs: number,
  signal?: AbortSignal,
  more: readonly string[] = [],
): Promise<Properties[] | string> {
  const properties = ["LoadState", "ActiveState", "SubState", "Result", "NRestarts", ...more].join(",");
  const result = await inquire(systemctl(scope, "show", `--property=${properties}`, ...units), timeoutMs, signal);
  if (result.code !== 0) return `\`systemctl show ${units.join(" ")}\` failed: ${describeFailure(result, timeoutMs)}`;
  return result.stdout.trim().split(/\n\n+/).map(propertiesIn);
}

const propertiesIn = (text: string): Properties =>
  Object.fromEntries(
    text.split("\n").map((line) => {
      const equals = line.indexOf("=");
      return [line.slice(0, equals), line.slice(equals + 1)];
    }),
  );

/** Time for which systemd may be away, in milliseconds. It answers nobody while it executes itself anew. */
const AWAY_MS = 10_000;
const AWAY_PAUSE_MS = 300;

/**
 * Reads properties of units, as {@link unitProperties} does. Asks again while systemd does not answer.
 *
 * @throws DeploymentError `supervisor_unavailable`: what cannot be asked says nothing of a version
 */
export async function askUnits(
  scope: SystemdScope,
  units: readonly string[],
  timeoutMs: number,
  signal?: AbortSignal,
  more: readonly string[] = [],
): Promise<Properties[]> {
  for (const end = performance.now() + Math.min(AWAY_MS, timeoutMs); ;) {
    const found = await unitProperties(scope, units, timeoutMs, signal, more);
    signal?.throwIfAborted();
    if (typeof found !== "string") return found;
    if (performance.now() >= end) throw deploymentError("supervisor_unavailable", `${found}.`);
    await sleep(AWAY_PAUSE_MS, undefined, signal && { signal });
  }
}

/**
 * Starts, stops or restarts units, the last of which is the service. Tries again while systemd fails, and not
 * the service: systemd executes itself anew, lets this user do nothing, or cannot run the condition of ours.
 *
 * @throws DeploymentError `supervisor_failed` where the service has failed, else `supervisor_unavailable`
 */
export async function actOnUnits(
  scope: SystemdScope,
  verb: string,
  units: readonly string[],
  signal?: AbortSignal,
  timeoutMs = PROGRAM_TIMEOUT_MS,
): Promise<void> {
  for (const end = performance.now() + AWAY_MS; ;) {
    const { error, timedOut } = await tryToSupervise(systemctl(scope, verb, ...units), signal, timeoutMs);
    if (error === undefined) return;
    if (timedOut === true) throw error;
    const [service] = await askUnits(scope, units.slice(-1), READY_TIMEOUT_MS, signal, ["ExecCondition"]);
    if (hasFailed(service!)) throw error;
    if (performance.now() >= end)
      throw deploymentError("supervisor_unavailable", error.message, {
        cause: error,
        hint: "Run it by hand to see why.",
      });
    await sleep(AWAY_PAUSE_MS, undefined, signal && { signal });
  }
}

/** True for a service whose own programs have failed, or that is not there. */
function hasFailed({
  LoadState,
  ActiveState,
  Result = "success",
  NRestarts = "0",
  ExecCondition,
}: Properties): boolean {
  if (LoadState !== undefined && LoadState !== "loaded") return true;
  return (ActiveState === "failed" || Result !== "success" || Number(NRestarts) > 0) && !isBroken(ExecCondition ?? "");
}

/** True for a condition that could not say yes or no. Codes from 1 to 254 are a no (systemd.service(5)). */
function isBroken(condition: string): boolean {
  const [, code, status] = /code=(\w+) ; status=(\d+)/.exec(condition) ?? [];
  return code === "killed" || code === "dumped" || (code === "exited" && status === "255");
}

/** Looks at a unit's state once. @throws DeploymentError `supervisor_unavailable` */
export async function sampleUnit(
  scope: SystemdScope,
  unit: string,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Sample> {
  const [found] = await askUnits(scope, [unit], timeoutMs, signal);
  const { LoadState, ActiveState = "unknown", SubState, Result, NRestarts = 0 } = found!;
  const restarts = Number(NRestarts);
  if (LoadState !== undefined && LoadState !== "loaded") return { fault: `the unit ${unit} is ${LoadState}`, restarts };
  if (ActiveState === "active") return { restarts };
  // Between an end and the next start; "activating" would read as if it were about to work.
  if (SubState === "auto-restart")
    return { fault: `the unit ${unit} has ended (result ${Result}); systemd starts it again`, restarts };
  const more = [SubState, Result && `result ${Result}`].filter(Boolean).join(", ");
  return { fault: `the unit ${unit} is ${ActiveState}${more && ` (${more})`}`, restarts };
}
