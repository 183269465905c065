import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { msOf, numbersByTurns } from "../measure.ts";
import { BenchProject, KEY } from "../runtime-project.ts";
import { cpuMsOf, pssMbOf, treeOf } from "./processes.ts";
import { type HostProgram, RunningHost, SMALL } from "./running-host.ts";

/** Measures hosts of plugins by turns: each serves a plugin of one line, at the defaults. */

const SOURCE = `export default { actions: { echo: (payload) => payload, loop: () => { for (;;); } } };`;
/** Reloads of one turn under load, and the time for which the load lasts, in seconds. */
const RELOADS = 5;
const RELOAD_SECONDS = 3;

/** Numbers of each host, one a turn. */
type Turns<Name extends string> = Record<Name, number[]>;

async function addPlugin(project: BenchProject, name: string): Promise<void> {
  const limits = `resources: { timeout_seconds: 1, rate_limit: { calls: 100000000, period_seconds: 1 } }`;
  const descriptor = `name: ${name}\nversion: 1.0.0\nentry_point: main.mjs\n${limits}\n`;
  await project.write(`plugins/${name}/plugin.yaml`, descriptor);
  await project.write(`plugins/${name}/main.mjs`, SOURCE);
}

/** Makes a project root with one plugin, and with the peers' program. */
export async function hostProject(): Promise<BenchProject> {
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

const pssMbOfAll = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + pssMbOf(pid), 0);

/** Hosts that stay, besides those that a measurement starts for itself. */
export class HostTurns<Name extends string> implements AsyncDisposable {
  readonly #programs: Record<Name, HostProgram>;
  readonly #project: BenchProject;
  readonly #turns: number;
  readonly #stack = new AsyncDisposableStack();
  #hosts = new Map<Name, RunningHost>();
  /** Calls under load that failed. */
  readonly failed: Record<Name, number>;

  constructor(programs: Record<Name, HostProgram>, project: BenchProject, turns: number) {
    this.#programs = programs;
    this.#project = project;
    this.#turns = turns;
    this.failed = Object.fromEntries(this.#names.map((name) => [name, 0])) as Record<Name, number>;
  }

  get #names(): Name[] {
    return Object.keys(this.#programs) as Name[];
  }

  /** Measures starts to the first answer: milliseconds of wall and processor time, and PSS of all processes in MB. */
  async starts(): Promise<Record<"wall" | "cpu" | "memory", Turns<Name>>> {
    const [cpu, memory] = [this.#empty(), this.#empty()];
    const wall = await this.#byTurns(async (name) => {
      const started = performance.now();
      await using host = await this.#start(name);
      await host.ask("echo/echo");
      const took = performance.now() - started;
      cpu[name].push(cpuMsOf(host.pid));
      memory[name].push(pssMbOfAll(treeOf(host.pid)));
      return took;
    });
    return { wall, cpu, memory };
  }

  /** Starts the hosts that stay. Peers start one plugin, and so does Sealift until here. */
  async open(): Promise<void> {
    await addPlugin(this.#project, "more");
    for (const name of this.#names) this.#hosts.set(name, this.#stack.use(await this.#start(name)));
  }

  /** Measures the load of one more plugin: milliseconds of wall and processor time, and its processes' PSS in MB. */
  async more(): Promise<Record<"wall" | "cpu" | "memory", Turns<Name>>> {
    const [cpu, memory] = [this.#empty(), this.#empty()];
    const wall = await this.#byTurns(async (name) => {
      const host = this.#hosts.get(name)!;
      if (host.isRuntime) await host.ask("more/unload");
      const before = new Set(treeOf(host.pid));
      const cpuBefore = cpuMsOf(host.pid);
      const took = await msOf(() => host.ask("more/load"));
      cpu[name].push(cpuMsOf(host.pid) - cpuBefore);
      memory[name].push(pssMbOfAll(treeOf(host.pid).filter((pid) => !before.has(pid))));
      return took;
    });
    return { wall, cpu, memory };
  }

  /** Measures the milliseconds until a plugin works again after an endless loop. */
  loop(): Promise<Turns<Name>> {
    // Each by a host of its own: Sealift waits before it restarts what loops again within a minute.
    return this.#byTurns(async (name) => {
      await using own = await this.#start(name);
      await own.ask("echo/echo");
      if ((await own.ask("echo/loop")) === 200) throw new Error("the loop ended");
      return await msOf(async () => {
        while ((await own.ask("echo/echo")) !== 200) await new Promise((resolve) => setTimeout(resolve, 2));
      });
    });
  }

  /** Calls the plugin without measuring it. */
  async warm(): Promise<void> {
    for (const host of this.#hosts.values()) await host.load(SMALL);
  }

  /** Measures the microseconds of processor time per good answer. */
  calls(body: string): Promise<Turns<Name>> {
    return this.#byTurns(async (name) => {
      const host = this.#hosts.get(name)!;
      const before = cpuMsOf(host.pid);
      const { good, failed } = await host.load(body);
      this.failed[name] += failed;
      if (good === 0) throw new Error(`${name} answered no call in time`);
      return ((cpuMsOf(host.pid) - before) * 1000) / good;
    });
  }

  /** Measures the milliseconds of a reload. */
  reloads(): Promise<Turns<Name>> {
    return this.#byTurns((name) => msOf(() => this.#hosts.get(name)!.ask("echo/reload")));
  }

  /** Measures the milliseconds of a reload while 16 connections call the plugin: the mean of a few. */
  reloadsUnderLoad(): Promise<Turns<Name>> {
    return this.#byTurns(async (name) => {
      const host = this.#hosts.get(name)!;
      const load = host.load(SMALL, RELOAD_SECONDS);
      const took = await msOf(async () => {
        for (let count = 0; count < RELOADS; count++) await host.ask("echo/reload");
      });
      this.failed[name] += (await load).failed;
      return took / RELOADS;
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  #start(name: Name): Promise<RunningHost> {
    return RunningHost.start(this.#programs[name], this.#project.root);
  }

  #empty(): Turns<Name> {
    return Object.fromEntries(this.#names.map((name) => [name, []])) as unknown as Turns<Name>;
  }

  #byTurns(measure: (name: Name) => Promise<number>): Promise<Turns<Name>> {
    const attempts = Object.fromEntries(this.#names.map((name) => [name, () => measure(name)]));
    return numbersByTurns(this.#turns, attempts as Record<Name, () => Promise<number>>);
  }
}
