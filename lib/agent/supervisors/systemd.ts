import { describeFailure } from "../base/child-program.ts";
import { answers, inquire, type Sample, supervise, type Supervisor, twoSamples, unitName } from "./supervisor.ts";

export interface SystemdOptions {
  /** Template of the names; `<id>` is the plugin. */
  template?: string | undefined;
  scope: "system" | "user";
}

/** Supervises systemd units through `systemctl`. Healthy: active and not restarted between two samples. */
export function systemdSupervisor({ template, scope }: SystemdOptions): Supervisor {
  const systemctl = (verb: string, ...rest: string[]): [string, ...string[]] => [
    "systemctl",
    `--${scope}`,
    "--no-ask-password",
    verb,
    ...rest,
  ];
  const act = (verb: string) => async (plugin: string | null, signal?: AbortSignal) => {
    await supervise(systemctl(verb, unitName(template, plugin)), signal);
  };

  const sample = async (unit: string, timeoutMs: number, signal?: AbortSignal): Promise<Sample> => {
    const result = await inquire(
      systemctl("show", "--property=LoadState,ActiveState,SubState,Result,NRestarts", unit),
      timeoutMs,
      signal,
    );
    if (result.code !== 0)
      return { fault: `systemctl show ${unit} failed: ${describeFailure(result, timeoutMs)}`, restarts: 0 };
    const properties = Object.fromEntries(
      result.stdout.split("\n").map((line) => {
        const equals = line.indexOf("=");
        return [line.slice(0, equals), line.slice(equals + 1)];
      }),
    ) as Record<string, string>;
    const restarts = Number(properties.NRestarts ?? 0);
    if (properties.LoadState !== undefined && properties.LoadState !== "loaded")
      return { fault: `the unit ${unit} is ${properties.LoadState}`, restarts };
    if (properties.ActiveState === "active") return { restarts };
    const { ActiveState = "unknown", SubState, Result } = properties;
    const more = [SubState, Result && `result ${Result}`].filter(Boolean).join(", ");
    return { fault: `the unit ${unit} is ${ActiveState}${more && ` (${more})`}`, restarts };
  };

  return {
    ready: (signal) => answers(systemctl("list-jobs"), signal),
    start: act("start"),
    stop: act("stop"),
    restart: act("restart"),
    check: (plugin, timeoutMs, signal) =>
      twoSamples(() => sample(unitName(template, plugin), timeoutMs, signal), signal),
  };
}
