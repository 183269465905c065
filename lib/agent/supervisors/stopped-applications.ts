import type { Layout } from "../../releases/layout.ts";
import { restsSince } from "../../releases/stopped.ts";
import type { Supervisor } from "./supervisor.ts";

/**
 * Lets a supervisor of applications pass by those that an operator has stopped, and those that are of one: it starts
 * none of them, and none is unhealthy for that (docs/contract/application.md#stopped).
 */
export function passingStopped(layout: Layout, supervisor: Supervisor): Supervisor {
  const isStopped = async (id: string | null): Promise<boolean> =>
    id !== null && (await restsSince(layout, id)) !== undefined;
  const starting =
    (start: (id: string | null, signal?: AbortSignal) => Promise<void>) =>
    async (id: string | null, signal?: AbortSignal): Promise<void> => {
      if (!(await isStopped(id))) await start(id, signal);
    };
  return {
    ...supervisor,
    passes: isStopped,
    start: starting((id, signal) => supervisor.start(id, signal)),
    restart: starting((id, signal) => supervisor.restart(id, signal)),
    recover: starting((id, signal) =>
      supervisor.recover === undefined ? supervisor.restart(id, signal) : supervisor.recover(id, signal),
    ),
    async check(id, timeoutMs, signal) {
      if (await isStopped(id)) return undefined;
      const fault = await supervisor.check(id, timeoutMs, signal);
      // It may be stopped while it is asked.
      return fault === undefined || (await isStopped(id)) ? undefined : fault;
    },
    ...(supervisor.look !== undefined && {
      async look(id: string | null, timeoutMs: number, signal?: AbortSignal) {
        if (await isStopped(id)) return { restarts: 0 };
        const sample = await supervisor.look!(id, timeoutMs, signal);
        return sample.fault !== undefined && (await isStopped(id)) ? { restarts: sample.restarts } : sample;
      },
    }),
  };
}
