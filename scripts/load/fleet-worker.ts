/** A part of a fleet in a thread of its own: what {@link startFleet} starts. */
import { monitorEventLoopDelay, type RecordableHistogram } from "node:perf_hooks";
import { parentPort, workerData } from "node:worker_threads";
import { type Orders, runAgent } from "./agent.ts";
import { measureRequests } from "./requests.ts";

/** Agents of one thread. */
export interface FleetPart {
  orders: Orders;
  /** Number of the first agent. */
  first: number;
  agents: number;
}

/** Order to a thread that plays a part of the fleet. */
export type FleetOrder = { advanceMs: number } | { phase: string } | "stop";

/** Message of a thread about its part of the fleet. */
export type FleetEvent =
  { kind: "polled"; agent: number } | { kind: "deployed"; version: string } | { kind: "error"; code: string } | PartEnd;

/** Last message of a thread: its measurements. */
export interface PartEnd {
  kind: "ended";
  histograms: Map<string, RecordableHistogram>;
  utilization: number;
  delayP99Ms: number;
}

const DELAY_RESOLUTION_MS = 10;

const port = parentPort!;
const tell = (event: FleetEvent): void => port.postMessage(event);
const { orders, first, agents } = workerData as FleetPart;

// The clock by which clients renew their sessions, which can be advanced.
const real = performance.now.bind(performance);
let ahead = 0;
performance.now = () => real() + ahead;

const times = measureRequests();
const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
delay.enable();
const utilization = performance.eventLoopUtilization();
// One for each agent: a signal with ten thousand listeners is slow.
const stops = Array.from({ length: agents }, () => new AbortController());
const running = stops.map(({ signal }, index) =>
  runAgent(
    {
      ...orders,
      onPolled: (agent) => tell({ kind: "polled", agent }),
      onDeployed: (version) => tell({ kind: "deployed", version }),
      onError: (code) => tell({ kind: "error", code }),
    },
    first + index,
    signal,
  ),
);

port.on("message", (order: FleetOrder) => {
  if (order === "stop") void stop();
  else if ("phase" in order) times.phase = order.phase;
  else ahead += order.advanceMs;
});

async function stop(): Promise<void> {
  delay.disable();
  const measured = {
    utilization: performance.eventLoopUtilization(utilization).utilization,
    // A sample that is in time is as late as the resolution.
    delayP99Ms: Math.max(delay.percentile(99) / 1e6 - DELAY_RESOLUTION_MS, 0),
  };
  times[Symbol.dispose]();
  for (const each of stops) each.abort();
  await Promise.all(running);
  tell({ kind: "ended", histograms: times.histograms, ...measured });
  port.close();
}
