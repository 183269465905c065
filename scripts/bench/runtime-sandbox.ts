import { fork } from "node:child_process";
import { once } from "node:events";
import { pino } from "pino";
import { CallLog } from "../../lib/runtime/calls/call-log.ts";
import { Calls } from "../../lib/runtime/calls/calls.ts";
import { Metrics } from "../../lib/runtime/observability/metrics.ts";
import { createRuntime } from "../../lib/runtime/runtime.ts";
import { msOf, numbersByTurns } from "./measure.ts";
import { judged, type Row } from "./row.ts";
import { BenchProject, configuration } from "./runtime-project.ts";
import { median } from "./statistics.ts";

/**
 * Measures a sandboxed action against one bare round trip over Node's own IPC: microseconds at p50, both without HTTP.
 */

const SOURCE = `export default { actions: { echo: (payload) => payload } };`;
const PAYLOAD = { text: "hello", numbers: [1, 2, 3] };

/** Returns the microseconds at p50. */
async function measure(rounds: number, trip: () => Promise<unknown>): Promise<number> {
  await numbersByTurns(500, { warm: () => msOf(trip) });
  const { times } = await numbersByTurns(rounds, { times: () => msOf(trip) });
  return median(times) * 1000;
}

async function bareRoundTrip(rounds: number): Promise<number> {
  const child = fork(new URL("./runtime-echo.ts", import.meta.url), { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  await once(child, "message");
  const waiting: ((value: unknown) => void)[] = [];
  child.on("message", (message) => waiting.shift()?.(message));
  try {
    return await measure(rounds, () => {
      const answer = new Promise((resolve) => waiting.push(resolve));
      child.send({ id: 1, payload: PAYLOAD });
      return answer;
    });
  } finally {
    child.disconnect();
  }
}

export async function benchSandboxedCalls({ rounds = 5000 } = {}): Promise<Row[]> {
  await using project = await BenchProject.create();
  await project.plugin("echo", "sandboxed", SOURCE);
  const runtime = await createRuntime({ configuration, root: project.root, logger: pino({ level: "silent" }) });
  try {
    await runtime.lifecycle.loadAll();
    const metrics = new Metrics();
    const calls = new Calls(runtime.catalogue, metrics, new CallLog(pino({ level: "silent" })));
    const bare = await bareRoundTrip(rounds);
    const call = async () => calls.call("echo", "echo", PAYLOAD, { requestId: "bench", depth: 0 });
    const sandboxed = await measure(rounds, call);
    const detail = `${sandboxed.toFixed(0)} µs against ${bare.toFixed(0)} µs`;
    return [judged("sandboxed", sandboxed - bare, detail)];
  } finally {
    await runtime.close();
  }
}

if (import.meta.main) console.table(await benchSandboxedCalls());
