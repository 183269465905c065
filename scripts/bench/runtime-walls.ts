import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { pino } from "pino";
import { CallLog } from "../../lib/runtime/calls/call-log.ts";
import { Calls } from "../../lib/runtime/calls/calls.ts";
import { Metrics } from "../../lib/runtime/observability/metrics.ts";
import { createRuntime, type Runtime } from "../../lib/runtime/runtime.ts";
import type { BudgetName } from "./budgets.ts";
import { msOf, numbersByTurns } from "./measure.ts";
import { judged, type Row } from "./row.ts";
import { RuntimeProgram } from "./runtime-program.ts";
import { BenchProject, configuration } from "./runtime-project.ts";
import { median } from "./statistics.ts";

/** The price of the second wall at a start, in a call and at the network, and that of many sandboxes together. */

/**
 * Time for which idle sandboxes are left alone first, in milliseconds: V8 collects the garbage of a start for half a
 * minute.
 */
const SETTLE_MS = 30_000;
const IDLE_MS = 20_000;

/** Plugin that times `rounds` requests one after the other; milliseconds at p50. */
const SOURCE = `
import { get } from "node:http";
const p50 = (times) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
const ask = (port) => new Promise((done, fail) => get({ host: "127.0.0.1", port }, (answer) => answer.on("end", done).resume()).on("error", fail));
export default { actions: {
  echo: (payload) => payload,
  fetch: async ({ port, rounds }) => {
    const times = [];
    for (let each = 0; each < rounds; each++) {
      const started = performance.now();
      await ask(port);
      if (each >= rounds / 5) times.push(performance.now() - started);
    }
    return p50(times);
  },
} };`;

/** Parts in which requests are sent through the proxy and directly, in turn. */
const TURNS = 20;

type Wall = "required" | "off";

/** Starts a runtime in this process, so that a microsecond is not lost among those of HTTP. */
async function runtimeOf(project: BenchProject, wall: Wall): Promise<Runtime> {
  const plugins = { ...configuration.plugins, sandbox: { wall } };
  const logger = pino({ level: "silent" });
  const runtime = await createRuntime({ configuration: { ...configuration, plugins }, root: project.root, logger });
  await runtime.lifecycle.loadAll();
  const failed = runtime.catalogue.all.find(({ state }) => state !== "loaded");
  if (failed) throw new Error(`${failed.name}: ${failed.fault?.message ?? "is not loaded"}`);
  return runtime;
}

const echo = (runtime: Runtime) => {
  const calls = new Calls(runtime.catalogue, new Metrics(), new CallLog(pino({ level: "silent" })));
  return (payload: unknown) => calls.call("echo", "echo", payload, { requestId: "bench", depth: 0 });
};

function wallRow(name: BudgetName, times: Record<Wall, number[]>): Row {
  const [walled, bare] = [median(times.required), median(times.off)];
  return judged(name, walled - bare, `${walled.toFixed(1)} against ${bare.toFixed(1)}`);
}

/** Measures loading with and without the wall, in turn, so that both meet the same load of the machine. */
async function started(starts: number): Promise<Row> {
  await using project = await BenchProject.create();
  await project.plugin("echo", "sandboxed", SOURCE);
  await using required = await RuntimeProgram.start(project, { sandbox: { wall: "required" } });
  await using off = await RuntimeProgram.start(project, { sandbox: { wall: "off" } });
  return wallRow(
    "wall_start",
    await numbersByTurns(starts, {
      required: () => msOf(() => required.reload("echo")),
      off: () => msOf(() => off.reload("echo")),
    }),
  );
}

/** Measures calls with and without the wall, in turn. */
async function called(rounds: number): Promise<Row> {
  await using project = await BenchProject.create();
  await project.plugin("echo", "sandboxed", SOURCE);
  await using ends = new AsyncDisposableStack();
  const [required, off] = [await runtimeOf(project, "required"), await runtimeOf(project, "off")];
  for (const runtime of [required, off]) ends.defer(() => runtime.close());
  const calls = { required: echo(required), off: echo(off) };
  const microseconds = async (wall: Wall) => (await msOf(() => calls[wall]({ text: "hello" }))) * 1000;
  const byWall = { required: () => microseconds("required"), off: () => microseconds("off") };
  await numbersByTurns(rounds / 5, byWall);
  return wallRow("wall_call", await numbersByTurns(rounds, byWall));
}

async function proxied(rounds: number): Promise<Row> {
  const server = createServer((_request, response) => response.end("hello"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await using project = await BenchProject.create();
  const named = `network: ["127.0.0.1:${port}"]\n`;
  await project.plugin("named", "sandboxed", SOURCE, "src/main.mjs", named);
  await project.plugin("direct", "sandboxed", SOURCE, "src/main.mjs", "network: true\n");
  const grants = { named: { network: [`127.0.0.1:${port}`] }, direct: { network: true } };
  try {
    await using program = await RuntimeProgram.start(project, { sandbox: { wall: "required" }, grants });
    const fetched = async (plugin: string) =>
      Number(await program.call(plugin, "fetch", { port, rounds: rounds / TURNS }));
    const byWay = { named: () => fetched("named"), direct: () => fetched("direct") };
    const times = await numbersByTurns(TURNS, byWay);
    const [through, direct] = [median(times.named), median(times.direct)];
    return judged("wall_proxy", through - direct, `${through.toFixed(3)} ms against ${direct.toFixed(3)} ms`);
  } finally {
    server.close();
  }
}

/** Returns the processor time of a process in the kernel's ticks of 10 ms. */
function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ") ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

async function many(count: number): Promise<Row[]> {
  await using project = await BenchProject.create();
  for (let index = 0; index < count; index++) await project.plugin(`plugin-${index}`, "sandboxed", SOURCE);
  await using program = await RuntimeProgram.start(project, { sandbox: { wall: "required" } });
  const seconds = program.readyMs / 1000;
  // Work that the start has put off would count as idling.
  await pause(SETTLE_MS);
  const pids = [program.pid, ...(await program.plugins()).map(({ pid = 0 }) => pid)];
  const ticks = () => pids.reduce((sum, pid) => sum + ticksOf(pid), 0);
  const [at, first] = [performance.now(), ticks()];
  await pause(IDLE_MS);
  const percent = ((ticks() - first) * 1000) / (performance.now() - at);
  const group = program.group ? "in a control group of its own" : "in the group of others";
  return [
    judged("wall_fleet", seconds, `${count} plugins`),
    judged("wall_idle", percent, `in ${IDLE_MS / 1000} s, ${group}`),
  ];
}

export async function benchWalls({ starts = 20, rounds = 4000, requests = 1000, plugins = 50 } = {}): Promise<Row[]> {
  return [await started(starts), await called(rounds), await proxied(requests), ...(await many(plugins))];
}

if (import.meta.main) console.table(await benchWalls());
