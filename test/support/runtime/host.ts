// tap hooks CommonJS loading in a way that loses a module's format; loaded already, the SDK needs no loading from
// there.
import "../../../lib/sdk/index.ts";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pino } from "pino";
import type { Test } from "tap";
import { stringify } from "yaml";
import type { PermissionModel } from "../../../lib/runtime/base/instance.ts";
import { createRuntime, type Runtime } from "../../../lib/runtime/runtime.ts";

/** A real runtime on a real socket, over a project root of the test's own, and the ways to speak with it. */

export const KEY = "a-plugin-key-for-tests-only";

/** Calls and time-outs that do not get into a test's way; a test that is about them sets its own. */
const RESOURCES = { timeout_seconds: 5, rate_limit: { calls: 100_000, period_seconds: 1 } };

export interface PluginSource {
  descriptor: Record<string, unknown> | string;
  files: Record<string, string>;
}

type Extra = Record<string, unknown>;

/** A plugin whose entry point is an ES module of this text. */
export function sandboxed(name: string, source: string, extra: Extra = {}): PluginSource {
  const { resources, ...others } = extra;
  const descriptor = {
    name,
    version: "1.0.0",
    entry_point: "src/main.mjs",
    ...others,
    resources: { ...RESOURCES, ...(resources as object | undefined) },
  };
  return { descriptor, files: { "src/main.mjs": source } };
}

export function trusted(name: string, source: string, extra: Extra = {}): PluginSource {
  return sandboxed(name, source, { execution_mode: "trusted", ...extra });
}

/** The text of a module whose default export has these actions. */
export const actions = (text: string, before = ""): string => `${before}\nexport default { actions: { ${text} } };`;

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

export interface LogRecord {
  level: number;
  msg: string;
  plugin?: string;
  stream?: string;
  [field: string]: unknown;
}

export interface HostOptions {
  /** By folder name. */
  plugins?: Record<string, PluginSource>;
  files?: Record<string, string>;
  configuration?: Extra & { app?: Extra; plugins?: Extra };
  env?: Record<string, string>;
  /** Default true. */
  listen?: boolean;
  permissionModel?: PermissionModel;
  controlGroup?: string;
}

export class Host {
  readonly root: string;
  readonly logs: LogRecord[] = [];
  runtime!: Runtime;
  url = "";

  constructor(root: string) {
    this.root = root;
  }

  path(...parts: string[]): string {
    return join(this.root, ...parts);
  }

  write(path: string, content: string): void {
    const file = this.path(path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }

  /** Writes a plugin, or writes over it. */
  install(id: string, { descriptor, files }: PluginSource): void {
    this.write(`plugins/${id}/plugin.yaml`, typeof descriptor === "string" ? descriptor : stringify(descriptor));
    for (const [path, content] of Object.entries(files)) this.write(`plugins/${id}/${path}`, content);
  }

  async request(
    method: string,
    path: string,
    options: { body?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const { body, headers = {} } = options;
    const response = await fetch(this.url + path, { method, headers, ...(body !== undefined && { body }) });
    const text = await response.text();
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      parsed = undefined;
    }
    return { status: response.status, headers: response.headers, text, body: parsed };
  }

  /** A request with the plugin key. */
  system(method: string, path: string, body?: string): Promise<Answer> {
    const headers = { "x-plugin-key": KEY, ...(body !== undefined && { "content-type": "application/json" }) };
    return this.request(method, path, { headers, ...(body !== undefined && { body }) });
  }

  call(plugin: string, action: string, payload?: unknown): Promise<Answer> {
    return this.system("POST", `/plugin/ipc/${plugin}/${action}`, JSON.stringify({ payload }));
  }

  /** The result of a call that must succeed. */
  // oxlint-disable-next-line typescript/no-explicit-any
  async result(plugin: string, action: string, payload?: unknown): Promise<any> {
    const { status, body, text } = await this.call(plugin, action, payload);
    if (status !== 200) throw new Error(`${plugin}/${action}: ${status} ${text}`);
    return (body as { result: unknown }).result;
  }

  load = (plugin: string): Promise<Answer> => this.system("POST", `/plugin/ipc/${plugin}/load`);
  reload = (plugin: string): Promise<Answer> => this.system("POST", `/plugin/ipc/${plugin}/reload`);
  unload = (plugin: string): Promise<Answer> => this.system("DELETE", `/plugin/ipc/${plugin}/unload`);

  // oxlint-disable-next-line typescript/no-explicit-any
  async status(plugin: string): Promise<any> {
    const { body } = await this.system("GET", "/plugin/ipc/status");
    return (body as { plugins: { name: string }[] }).plugins.find(({ name }) => name === plugin);
  }

  async counter(name: string): Promise<number> {
    const { body } = await this.system("GET", "/plugin/ipc/metrics");
    const { counters } = body as { counters: Record<string, number> };
    return Object.entries(counters)
      .filter(([key]) => key.startsWith(name))
      .reduce((sum, [, value]) => sum + value, 0);
  }
}

/** Whether a process runs. One that has ended may still have its entry, until its parent or PID 1 takes note. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    const stat = process.platform === "linux" ? readFileSync(`/proc/${pid}/stat`, "latin1") : "";
    return !/\) [ZX] /.test(stat);
  } catch {
    return false;
  }
}

/** Starts a runtime; it is closed when the test ends. */
export async function startHost(t: Test, options: HostOptions = {}): Promise<Host> {
  const host = new Host(t.testdir({}));
  for (const [id, plugin] of Object.entries(options.plugins ?? {})) host.install(id, plugin);
  for (const [path, content] of Object.entries(options.files ?? {})) host.write(path, content);
  const { app, plugins, ...others } = options.configuration ?? {};
  host.runtime = await createRuntime({
    root: host.root,
    configuration: {
      app: { name: "test", secret_key: KEY, server: { port: 0, drain_seconds: 5 }, ...app },
      plugins: { strict_trusted: false, ...plugins },
      ...others,
    },
    env: options.env ?? {},
    permissionModel: options.permissionModel ?? "enforced",
    ...(options.controlGroup !== undefined && { controlGroup: options.controlGroup }),
    logger: pino({ level: "debug" }, { write: (line: string) => void host.logs.push(JSON.parse(line) as LogRecord) }),
  });
  t.teardown(() => host.runtime.close());
  if (options.listen !== false) host.url = await host.runtime.listen();
  return host;
}
