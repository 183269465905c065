import type { Layout } from "../../releases/layout.ts";
import { stoppedSince } from "../../releases/stopped.ts";
import type { Supervisor } from "./supervisor.ts";

/**
 * Lets a supervisor of applications pass by those that an operator has stopped: it starts none of them, and none is
 * unhealthy for that (docs/contract/application.md#stopped).
 */
export function passingStopped(layout: Layout, supervisor: Supervisor): Supervisor {
  const isStopped = async (id: string | null): Promise<boolean> =>
    id !== null && (await stoppedSince(layout, id)) !== undefined;
  const { look, recover = supervisor.restart } = supervisor;
  const starting =
    (start: Supervisor["start"]): Supervisor["start"] =>
    async (id, signal) => {
      if (!(await isStopped(id))) await start(id, signal);
    };
  return {
    ...supervisor,
    passes: isStopped,
    start: starting(supervisor.start),
    restart: starting(supervisor.restart),
    recover: starting(recover),
    async check(id, timeoutMs, signal) {
      if (await isStopped(id)) return undefined;
      const fault = await supervisor.check(id, timeoutMs, signal);
      // It may be stopped while it is asked.
      return fault === undefined || (await isStopped(id)) ? undefined : fault;
    },
    ...(look !== undefined && {
      async look(id: string | null, timeoutMs: number, signal?: AbortSignal) {
        if (await isStopped(id)) return { restarts: 0 };
        const sample = await look(id, timeoutMs, signal);
        return sample.fault !== undefined && (await isStopped(id)) ? { restarts: sample.restarts } : sample;
      },
    }),
  };
}
