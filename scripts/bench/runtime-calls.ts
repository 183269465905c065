import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import autocannon from "autocannon";
import { judged, type Row } from "./row.ts";
import { BenchProject, KEY } from "./runtime-project.ts";
import { median } from "./statistics.ts";

/** A trusted action against a bare Fastify handler: requests per second. */

const BODY = JSON.stringify({ payload: { text: "hello", numbers: [1, 2, 3] } });
const SOURCE = `export default { actions: { echo: (payload) => payload } };`;

async function serve(...parameters: string[]): Promise<{ url: string; child: ChildProcess }> {
  const child = fork(new URL("./runtime-server.ts", import.meta.url), parameters, {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const [url] = (await once(child, "message")) as [string];
  return { url, child };
}

async function requestsPerSecond(url: string, seconds: number, method: "GET" | "POST" = "POST"): Promise<number> {
  const headers = { "content-type": "application/json", "x-plugin-key": KEY };
  const asked = method === "GET" ? {} : { headers, body: BODY };
  const result = await autocannon({ url, method, ...asked, connections: 20, duration: seconds });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}: ${result.non2xx} refusals, ${result.errors} errors`);
  return result.requests.average;
}

/** @param rounds each side is measured so often, in turns */
export async function benchTrustedCalls({ rounds = 5, seconds = 3 } = {}): Promise<Row[]> {
  await using project = await BenchProject.create();
  await project.plugin("echo", "trusted", SOURCE);
  const bare = await serve("bare");
  const runtime = await serve("runtime", project.root);
  try {
    const bareUrl = `${bare.url}/plugin/ipc/echo/echo`;
    const runtimeUrl = `${runtime.url}/plugin/ipc/echo/echo`;
    await requestsPerSecond(bareUrl, 1);
    await requestsPerSecond(runtimeUrl, 1);
    const rates = { bare: [] as number[], runtime: [] as number[] };
    for (let round = 0; round < rounds; round++) {
      rates.bare.push(await requestsPerSecond(bareUrl, seconds));
      rates.runtime.push(await requestsPerSecond(runtimeUrl, seconds));
    }
    const detail = `${Math.round(median(rates.runtime))}/s against ${Math.round(median(rates.bare))}/s`;
    return [judged("trusted", median(rates.runtime) / median(rates.bare), detail)];
  } finally {
    bare.child.kill();
    runtime.child.kill();
  }
}

const ROUTED = `export default { routes: [{ method: "GET", path: "/items/:id", handler: (request) => ({ id: request.params.id, text: "hello" }) }] };`;

/** A route of a sandboxed plugin against the same one of a trusted plugin, in one runtime. */
export async function benchSandboxedRoutes({ rounds = 5, seconds = 3 } = {}): Promise<Row[]> {
  await using project = await BenchProject.create();
  for (const mode of ["trusted", "sandboxed"] as const) await project.plugin(mode, mode, ROUTED);
  const runtime = await serve("runtime", project.root);
  try {
    const rates = { trusted: [] as number[], sandboxed: [] as number[] };
    const rate = (mode: keyof typeof rates, duration: number) =>
      requestsPerSecond(`${runtime.url}/plugin/${mode}/items/7`, duration, "GET");
    for (const mode of ["trusted", "sandboxed"] as const) await rate(mode, 1);
    for (let round = 0; round < rounds; round++)
      for (const mode of ["trusted", "sandboxed"] as const) rates[mode].push(await rate(mode, seconds));
    const detail = `${Math.round(median(rates.sandboxed))}/s against ${Math.round(median(rates.trusted))}/s`;
    return [judged("sandboxed_route", median(rates.sandboxed) / median(rates.trusted), detail)];
  } finally {
    runtime.child.kill();
  }
}

if (import.meta.main) console.table([...(await benchTrustedCalls()), ...(await benchSandboxedRoutes())]);
