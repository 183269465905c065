import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import autocannon from "autocannon";
import { build } from "esbuild";
import type { BudgetName } from "../budgets.ts";
import { bin, numbersByTurns } from "../measure.ts";
import { judged, type Row, unjudged } from "../row.ts";
import { BenchProject, KEY } from "../runtime-project.ts";
import { median, spread } from "../statistics.ts";
import { cpuMsOf, pssMbOf, treeOf } from "./processes.ts";

/** Compares the runtime with what people would use instead, in turn: a plugin of one line, at the defaults. */

const SOURCE = `export default { actions: { echo: (payload) => payload, loop: () => { for (;;); } } };`;
const SECONDS = Number(process.env.BENCH_PEER_SECONDS ?? 5);
const headers = { "x-plugin-key": KEY, "content-type": "application/json" };
const SMALL = JSON.stringify({ payload: { text: "hello", numbers: [1, 2, 3] } });
const LARGE = JSON.stringify({ payload: { text: "x".repeat(1_000_000) } });

type Kind = "ours" | "fork" | "bwrap" | "piscina";

/** Running host of Sealift or a peer. */
class Host implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Starts a host. @throws Error when it does not become ready */
  static async start(kind: Kind, root: string): Promise<Host> {
    const words =
      kind === "ours" ? [bin("runtime-serve"), "--config", "integration.yaml"] : [join(root, "host.mjs"), kind];
    // As the shipped unit starts it: without the flag, the program starts Node a second time to have it.
    const env = { ...process.env, ...(kind === "ours" && { NODE_OPTIONS: "--disable-sigusr1" }) };
    const child = spawn(process.execPath, words, { cwd: root, env, stdio: ["ignore", "pipe", "ignore"] });
    const [line] = (await Promise.race([once(child.stdout, "data"), once(child, "exit")])) as [Buffer | number];
    const url = /^ready (\S+)/.exec(String(line))?.[1];
    if (url === undefined) throw new Error(`${kind} did not become ready`);
    return new Host(child, `${url}/plugin/ipc`);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  async ask(path: string, body = SMALL): Promise<number> {
    const answer = await fetch(`${this.url}/${path}`, { method: "POST", headers, body });
    await answer.text();
    return answer.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await ended;
  }
}

/** Requests until the answer is good. @returns milliseconds */
async function untilGood(host: Host, path: string): Promise<number> {
  const started = performance.now();
  while ((await host.ask(path)) !== 200) await new Promise((resolve) => setTimeout(resolve, 2));
  return performance.now() - started;
}

/** Measures the microseconds of processor time per good answer; adds failures to `failed`. */
async function loadOf(host: Host, body: string, failed: { count: number }): Promise<number> {
  const before = cpuMsOf(host.pid);
  const result = await autocannon({
    url: `${host.url}/echo/echo`,
    method: "POST",
    headers,
    body,
    connections: 16,
    duration: SECONDS,
  });
  failed.count += result.non2xx + result.errors;
  return ((cpuMsOf(host.pid) - before) * 1000) / result["2xx"];
}

async function addPlugin(project: BenchProject, name: string): Promise<void> {
  const limits = `resources: { timeout_seconds: 1, rate_limit: { calls: 100000000, period_seconds: 1 } }`;
  const descriptor = `name: ${name}\nversion: 1.0.0\nentry_point: main.mjs\n${limits}\n`;
  await project.write(`plugins/${name}/plugin.yaml`, descriptor);
  await project.write(`plugins/${name}/main.mjs`, SOURCE);
}

async function projectOf(): Promise<BenchProject> {
  const project = await BenchProject.create();
  const configuration = {
    app: { name: "bench", secret_key: KEY, server: { port: 0 } },
    observability: { logging: { level: "silent" } },
  };
  await project.write("integration.yaml", JSON.stringify(configuration));
  await addPlugin(project, "echo");
  // As plain JavaScript: stripping types would count as the peers' start and memory.
  await build({
    entryPoints: ["host.ts", "guest.ts"].map((name) => fileURLToPath(new URL(name, import.meta.url))),
    ...{ bundle: true, platform: "node", format: "esm", outdir: project.root, outExtension: { ".js": ".mjs" } },
  });
  return project;
}

/** Returns the kinds that this machine has. */
async function kinds(root: string): Promise<Kind[]> {
  const found: Kind[] = [];
  for (const kind of ["ours", "fork", "bwrap", "piscina"] as const) {
    try {
      await using _host = await Host.start(kind, root);
      found.push(kind);
    } catch {
      console.error(`${kind} is not measured: it cannot be started here`);
    }
  }
  return found;
}

export async function runtimePeerRows(turns: number): Promise<Row[]> {
  await using project = await projectOf();
  const { root } = project;
  const all = await kinds(root);
  const rows: Row[] = [];
  /** Judges Sealift against fork, and shows the others. */
  const judge = (name: BudgetName, of: Record<Kind, number[]>, unit: string, asRatio = true): void => {
    const [ours, fork] = [median(of.ours), median(of.fork)];
    const digits = ours < 100 ? 1 : 0;
    const detail = all.map((kind) => `${kind} ${median(of[kind]).toFixed(digits)} (${spread(of[kind], digits)})`);
    rows.push(judged(name, asRatio ? ours / fork : ours, `${unit}: ${detail.join(", ")}`));
  };
  const byTurns = (count: number, measure: (kind: Kind) => Promise<number>): Promise<Record<Kind, number[]>> =>
    numbersByTurns(
      count,
      Object.fromEntries(all.map((kind) => [kind, () => measure(kind)])) as Record<Kind, () => Promise<number>>,
    );

  const cpu: Partial<Record<Kind, number[]>> = {};
  const starts = await byTurns(turns, async (kind) => {
    const started = performance.now();
    await using host = await Host.start(kind, root);
    await host.ask("echo/echo");
    const wall = performance.now() - started;
    (cpu[kind] ??= []).push(cpuMsOf(host.pid));
    return wall;
  });
  judge("peer_start", starts, "ms");
  judge("peer_start_cpu", cpu as Record<Kind, number[]>, "ms of CPU");

  // The peers start one plugin, and so does Sealift until here.
  await addPlugin(project, "more");
  await using stack = new AsyncDisposableStack();
  const hosts = new Map<Kind, Host>();
  for (const kind of all) hosts.set(kind, stack.use(await Host.start(kind, root)));
  const host = (kind: Kind): Host => hosts.get(kind)!;
  const timed = async (work: Promise<unknown>): Promise<number> => {
    const started = performance.now();
    await work;
    return performance.now() - started;
  };

  const memory: Partial<Record<Kind, number[]>> = {};
  const more = await byTurns(turns, async (kind) => {
    if (kind === "ours") await host(kind).ask("more/unload");
    const before = new Set(treeOf(host(kind).pid));
    const took = await timed(host(kind).ask("more/load"));
    const added = treeOf(host(kind).pid).filter((pid) => !before.has(pid));
    (memory[kind] ??= []).push(added.reduce((sum, pid) => sum + pssMbOf(pid), 0));
    return took;
  });
  judge("peer_more", more, "ms");
  judge("peer_memory", memory as Record<Kind, number[]>, "MB");

  judge(
    "peer_loop",
    // Each by a host of its own: Sealift waits before it restarts what loops again within a minute.
    await byTurns(turns, async (kind) => {
      await using own = await Host.start(kind, root);
      await own.ask("echo/echo");
      if ((await own.ask("echo/loop")) === 200) throw new Error("the loop ended");
      return await untilGood(own, "echo/echo");
    }),
    "ms",
    false,
  );

  const failed = Object.fromEntries(all.map((kind) => [kind, { count: 0 }])) as Record<Kind, { count: number }>;
  for (const kind of all) await loadOf(host(kind), SMALL, { count: 0 });
  judge("peer_call", await byTurns(turns, (kind) => loadOf(host(kind), SMALL, failed[kind])), "µs of CPU");
  judge("peer_large", await byTurns(turns, (kind) => loadOf(host(kind), LARGE, failed[kind])), "µs of CPU");
  judge("peer_reload", await byTurns(turns, (kind) => timed(host(kind).ask("echo/reload"))), "ms", false);
  const counts = all.map((kind) => `${kind} ${failed[kind].count}`).join(", ");
  rows.push(judged("peer_failed", failed.ours.count, counts));
  if (!all.includes("piscina")) rows.push(unjudged("runtime: piscina", "–", 0, "", "not installed"));
  return rows;
}
