import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { rmdir } from "node:fs/promises";
import { join } from "node:path";
import { ownFolder } from "../../lib/support/control-groups/own-group.ts";
import { bin } from "./measure.ts";
import { type BenchProject, configuration, KEY } from "./runtime-project.ts";

/** Loaded plugin, as the runtime reports it. */
interface Loaded {
  name: string;
  state: string;
  error?: string;
  pid?: number;
}

/** The built `runtime-serve` on a project, as an operator runs it: its sandboxes start from `dist/` too. */
export class RuntimeProgram implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #url: string;
  /** Milliseconds from the program's start to its ready line. */
  readonly readyMs: number;
  /** Control group of its own, as under systemd; undefined where none can be made. */
  readonly group: string | undefined;

  private constructor(child: ChildProcess, url: string, readyMs: number, group: string | undefined) {
    this.group = group;
    this.#child = child;
    this.#url = url;
    this.readyMs = readyMs;
  }

  /**
   * @param plugins entries of the configuration's `plugins` besides those of every benchmark
   * @throws Error when it does not become ready, or a plugin does not load
   */
  static async start(project: BenchProject, plugins: object = {}): Promise<RuntimeProgram> {
    const file = `integration-${Math.random().toString(36).slice(2)}.yaml`;
    const settings = { ...configuration, plugins: { ...configuration.plugins, ...plugins } };
    await project.write(file, JSON.stringify(settings));
    const started = performance.now();
    const child = spawn(process.execPath, [bin("runtime-serve"), "--config", file], {
      cwd: project.root,
      env: { PATH: process.env.PATH },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const group = ownGroupFor(child);
    const [line] = (await Promise.race([once(child.stdout, "data"), once(child, "exit")])) as [Buffer | number];
    const readyMs = performance.now() - started;
    const url = /^ready (\S+)/.exec(line.toString())?.[1];
    if (url === undefined) throw new Error(`runtime-serve did not become ready: ${line.toString()}`);
    const program = new RuntimeProgram(child, url, readyMs, group);
    const failed = (await program.plugins()).find(({ state }) => state !== "loaded");
    if (failed === undefined) return program;
    await program[Symbol.asyncDispose]();
    throw new Error(`${failed.name}: ${failed.error ?? failed.state}`);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  async plugins(): Promise<Loaded[]> {
    return ((await this.#ask("GET", "status")) as { plugins: Loaded[] }).plugins;
  }

  async reload(plugin: string): Promise<void> {
    await this.#ask("POST", `${plugin}/reload`);
  }

  async call(plugin: string, action: string, payload: unknown): Promise<unknown> {
    return ((await this.#ask("POST", `${plugin}/${action}`, { payload })) as { result: unknown }).result;
  }

  async #ask(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await fetch(`${this.#url}/plugin/ipc/${path}`, {
      method,
      headers: { "x-plugin-key": KEY },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await ended;
    // A group is empty a moment after its last process has ended.
    if (this.group !== undefined) await rmdir(this.group).catch(() => undefined);
  }
}

/** Puts a program that has just started into a control group of its own. */
function ownGroupFor({ pid }: ChildProcess): string | undefined {
  try {
    const folder = join(ownFolder(), `sealift-bench-${pid}`);
    mkdirSync(folder);
    writeFileSync(join(folder, "cgroup.procs"), String(pid));
    return folder;
  } catch {
    return undefined;
  }
}
