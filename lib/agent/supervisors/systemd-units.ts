import { describeFailure } from "../base/child-program.ts";
import { inquire, type Sample } from "./supervisor.ts";

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
    | "WorkingDirectory",
    string
  >
>;

/**
 * Reads properties of units, one record each in the order asked for.
 *
 * @param more properties beside those of their state
 * @returns what is wrong instead, if anything
 */
export async function unitProperties(
  scope: SystemdScope,
  units: readonly string[],
  timeoutMs: number,
  signal?: AbortSignal,
  more: readonly string[] = [],
): Promise<Properties[] | string> {
  const properties = ["LoadState", "ActiveState", "SubState", "Result", "NRestarts", ...more].join(",");
  const result = await inquire(systemctl(scope, "show", `--property=${properties}`, ...units), timeoutMs, signal);
  if (result.code !== 0) return `systemctl show ${units.join(" ")} failed: ${describeFailure(result, timeoutMs)}`;
  return result.stdout.trim().split(/\n\n+/).map(propertiesIn);
}

const propertiesIn = (text: string): Properties =>
  Object.fromEntries(
    text.split("\n").map((line) => {
      const equals = line.indexOf("=");
      return [line.slice(0, equals), line.slice(equals + 1)];
    }),
  );

/** Looks at a unit's state once. */
export async function sampleUnit(
  scope: SystemdScope,
  unit: string,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Sample> {
  const found = await unitProperties(scope, [unit], timeoutMs, signal);
  if (typeof found === "string") return { fault: found, restarts: 0 };
  const { LoadState, ActiveState = "unknown", SubState, Result, NRestarts = 0 } = found[0]!;
  const restarts = Number(NRestarts);
  if (LoadState !== undefined && LoadState !== "loaded") return { fault: `the unit ${unit} is ${LoadState}`, restarts };
  if (ActiveState === "active") return { restarts };
  // Between an end and the next start; "activating" would read as if it were about to work.
  if (SubState === "auto-restart")
    return { fault: `the unit ${unit} has ended (result ${Result}); systemd starts it again`, restarts };
  const more = [SubState, Result && `result ${Result}`].filter(Boolean).join(", ");
  return { fault: `the unit ${unit} is ${ActiveState}${more && ` (${more})`}`, restarts };
}
