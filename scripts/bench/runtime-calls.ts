import autocannon from "autocannon";
import type { BudgetName } from "./budgets.ts";
import { numbersByTurns, openServer } from "./measure.ts";
import { judged, type Row } from "./row.ts";
import { BenchProject, KEY } from "./runtime-project.ts";
import { median } from "./statistics.ts";

/** Measures a trusted action against a bare Fastify handler, in requests per second. */

const BODY = JSON.stringify({ payload: { text: "hello", numbers: [1, 2, 3] } });
const SOURCE = `export default { actions: { echo: (payload) => payload } };`;

async function requestsPerSecond(url: string, seconds: number, method: "GET" | "POST" = "POST"): Promise<number> {
  const headers = { "content-type": "application/json", "x-plugin-key": KEY };
  const asked = method === "GET" ? {} : { headers, body: BODY };
  const result = await autocannon({ url, method, ...asked, connections: 20, duration: seconds });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}: ${result.non2xx} refusals, ${result.errors} errors`);
  return result.requests.average;
}

function rateRow(name: BudgetName, ours: readonly number[], theirs: readonly number[]): Row {
  const [our, their] = [median(ours), median(theirs)];
  return judged(name, our / their, `${Math.round(our)}/s against ${Math.round(their)}/s`);
}

/** @param rounds measurements of each side, in turn */
export async function benchTrustedCalls({ rounds = 5, seconds = 3 } = {}): Promise<Row[]> {
  await using project = await BenchProject.create();
  await project.plugin("echo", "trusted", SOURCE);
  using bare = await openServer("runtime-server", ["bare"]);
  using runtime = await openServer("runtime-server", ["runtime", project.root]);
  const bareUrl = `${bare.url}/plugin/ipc/echo/echo`;
  const runtimeUrl = `${runtime.url}/plugin/ipc/echo/echo`;
  for (const url of [bareUrl, runtimeUrl]) await requestsPerSecond(url, 1);
  const rates = await numbersByTurns(rounds, {
    bare: () => requestsPerSecond(bareUrl, seconds),
    runtime: () => requestsPerSecond(runtimeUrl, seconds),
  });
  return [rateRow("trusted", rates.runtime, rates.bare)];
}

const ROUTED = `export default { routes: [{ method: "GET", path: "/items/:id", handler: (request) => ({ id: request.params.id, text: "hello" }) }] };`;

/** Measures a route of a sandboxed plugin against the same one of a trusted plugin, in one runtime. */
export async function benchSandboxedRoutes({ rounds = 5, seconds = 3 } = {}): Promise<Row[]> {
  await using project = await BenchProject.create();
  for (const mode of ["trusted", "sandboxed"] as const) await project.plugin(mode, mode, ROUTED);
  using runtime = await openServer("runtime-server", ["runtime", project.root]);
  const rate = (mode: string, duration = seconds) =>
    requestsPerSecond(`${runtime.url}/plugin/${mode}/items/7`, duration, "GET");
  for (const mode of ["trusted", "sandboxed"]) await rate(mode, 1);
  const rates = await numbersByTurns(rounds, { trusted: () => rate("trusted"), sandboxed: () => rate("sandboxed") });
  return [rateRow("sandboxed_route", rates.sandboxed, rates.trusted)];
}

if (import.meta.main) console.table([...(await benchTrustedCalls()), ...(await benchSandboxedRoutes())]);
