import * as z from "zod";
import { later } from "../../contract/later.ts";
import { describeFailure } from "../base/child-program.ts";
import { unitChecks } from "./settling.ts";
import { answers, inquire, type Sample, supervise, type Supervisor, type UnitHealth, unitName } from "./supervisor.ts";

export interface DockerOptions extends UnitHealth {
  /** Template of the names; `<id>` is the plugin. */
  template?: string | undefined;
}

const containerState = later(() =>
  z.looseObject({
    State: z.looseObject({
      Status: z.string(),
      Running: z.boolean(),
      Restarting: z.boolean().default(false),
      Health: z.looseObject({ Status: z.string() }).nullish(),
    }),
    RestartCount: z.number().default(0),
  }),
);

/**
 * Supervises containers through `docker`. Healthy: it runs for a while without a restart, and its own health check
 * passes, if it has one.
 */
export function dockerSupervisor({ template, ...health }: DockerOptions): Supervisor {
  const act = (verb: string) => async (plugin: string | null, signal?: AbortSignal) => {
    await supervise(["docker", verb, unitName(template, plugin)], signal);
  };

  const sample = async (container: string, timeoutMs: number, signal?: AbortSignal): Promise<Sample> => {
    const result = await inquire(
      ["docker", "inspect", "--type", "container", "--format", "{{json .}}", container],
      timeoutMs,
      signal,
    );
    if (result.code !== 0)
      return { fault: `docker inspect ${container} failed: ${describeFailure(result, timeoutMs)}`, restarts: 0 };
    const found = containerState.safeParse(parseJson(result.stdout));
    if (!found.success) return { fault: `docker inspect ${container} gave an unknown answer`, restarts: 0 };
    const { State: state, RestartCount: restarts } = found.data;
    if (!state.Running || state.Restarting) return { fault: `the container ${container} is ${state.Status}`, restarts };
    const health = state.Health?.Status;
    if (health !== undefined && health !== "none" && health !== "healthy")
      return { fault: `the container ${container} is ${health}`, restarts };
    return { restarts };
  };

  return {
    ready: (signal) => answers(["docker", "version", "--format", "{{.Server.Version}}"], signal),
    start: act("start"),
    stop: act("stop"),
    restart: act("restart"),
    ...unitChecks(health, (plugin, timeoutMs, signal) => sample(unitName(template, plugin), timeoutMs, signal)),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
