import { Worker } from "node:worker_threads";
import type { Orders } from "./agent.ts";
import type { FleetEvent, FleetOrder, FleetPart, PartEnd } from "./fleet-worker.ts";

/** Fleet at work, in some threads. */
export interface Fleet extends AsyncDisposable {
  /** Agents that have polled since `polled` was cleared. */
  readonly polled: Set<number>;
  /** Number of agents that have reported a version. */
  deployed(version: string): number;
  /** Advances the clocks of all agents. */
  advance(ms: number): void;
  /** Names the part of the run to which later requests belong. */
  enter(phase: string): void;
  /** Rejects with the error that has ended a thread. */
  readonly failed: Promise<never>;
  /** Ends all agents. @returns what each thread has measured */
  stop(): Promise<PartEnd[]>;
}

const PROGRAM = new URL("fleet-worker.ts", import.meta.url);

/** Starts a fleet whose agents are divided among as many threads: one event loop is too little for ten thousand. */
export function startFleet(
  orders: Orders,
  { agents, workers, onError }: { agents: number; workers: number; onError: (code: string) => void },
): Fleet {
  const deployed: Record<string, number> = {};
  const polled = new Set<number>();
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {});
  const each = Math.ceil(agents / workers);
  const threads = Array.from({ length: Math.ceil(agents / each) }, (_, index) => {
    const first = index * each;
    const workerData: FleetPart = { orders, first, agents: Math.min(each, agents - first) };
    const thread = new Worker(PROGRAM, { workerData });
    const { promise: ended, resolve } = Promise.withResolvers<PartEnd>();
    thread.once("error", failure.reject);
    thread.on("message", (event: FleetEvent) => {
      if (event.kind === "polled") polled.add(event.agent);
      else if (event.kind === "deployed") deployed[event.version] = (deployed[event.version] ?? 0) + 1;
      else if (event.kind === "error") onError(event.code);
      else resolve(event);
    });
    return { thread, ended };
  });
  const tell = (order: FleetOrder): void => {
    for (const { thread } of threads) thread.postMessage(order);
  };
  return {
    ...{ polled, failed: failure.promise },
    deployed: (version) => deployed[version] ?? 0,
    advance: (advanceMs) => tell({ advanceMs }),
    enter: (phase) => tell({ phase }),
    async stop() {
      tell("stop");
      return Promise.race([failure.promise, Promise.all(threads.map(({ ended }) => ended))]);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(threads.map(({ thread }) => thread.terminate()));
    },
  };
}
