import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { realpathSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { sharedLibraries } from "../../../lib/runtime/walls/host-files.ts";
import { KEY } from "../runtime-project.ts";

/**
 * Smallest program that people would write in place of a runtime: the same URL, check of the key and answer, an end for
 * what loops, and a reload. No ids, log, metrics, rate limits or checks of JSON. Prints its port. Argument: `fork`,
 * `bwrap` or `piscina`.
 */

const TIMEOUT_MS = 1000;
const GUEST = fileURLToPath(new URL("guest.mjs", import.meta.url));
const node = realpathSync(process.execPath);

interface Plugin {
  pid: number | undefined;
  call(action: string, payload: unknown): Promise<unknown>;
  stop(): unknown;
}

/** Returns the words that start a plugin's process. */
function command(kind: string): [string, ...string[]] {
  const started = [node, "--permission", `--allow-fs-read=${dirname(GUEST)}`, GUEST] as const;
  if (kind === "fork") return [...started];
  const libraries = sharedLibraries().flatMap((path) => ["--ro-bind", realpathSync(path), path]);
  const reads = [node, dirname(GUEST)].flatMap((path) => ["--ro-bind", path, path]);
  return [
    "bwrap",
    "--unshare-all",
    "--die-with-parent",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    ...libraries,
    ...reads,
    "--",
    ...started,
  ];
}

async function processOf(kind: string): Promise<Plugin> {
  const [file, ...words] = command(kind);
  const child: ChildProcess = spawn(file, words, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const waiting = new Map<number, (result: unknown) => void>();
  let last = 0;
  await once(child, "message");
  child.on("message", ({ id, result }: { id: number; result: unknown }) => {
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  return {
    pid: child.pid,
    call: (action, payload) =>
      new Promise((resolve) => {
        waiting.set(++last, resolve);
        child.send({ id: last, action, payload });
      }),
    stop: () => child.kill("SIGKILL"),
  };
}

/** Loads piscina where it is installed; it is not a dependency. */
async function poolOf(): Promise<Plugin> {
  const name = "piscina";
  const { Piscina } = (await import(name)) as {
    Piscina: new (options: object) => { run(task: unknown): Promise<unknown>; destroy(): Promise<void> };
  };
  const pool = new Piscina({ filename: GUEST, minThreads: 1, maxThreads: 1, concurrentTasksPerWorker: 64 });
  await pool.run({ action: "echo", payload: 1 });
  return { pid: undefined, call: (action, payload) => pool.run({ action, payload }), stop: () => pool.destroy() };
}

const [kind = "fork"] = process.argv.slice(2);
const start = (): Promise<Plugin> => (kind === "piscina" ? poolOf() : processOf(kind));
let current = start();
await current;

async function answer(action: string, body: string): Promise<unknown> {
  if (action === "load") return (await start()).pid ?? 0;
  if (action === "reload") {
    const [old, next] = [await current, await start()];
    current = Promise.resolve(next);
    return old.stop();
  }
  const used = current;
  const plugin = await used;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new Error("timed out"));
    if (current !== used) return;
    void plugin.stop();
    current = start();
  }, TIMEOUT_MS);
  try {
    const { payload } = JSON.parse(body) as { payload: unknown };
    return await Promise.race([plugin.call(action, payload), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

const server = createServer((request, response) => {
  if (request.headers["x-plugin-key"] !== KEY) return void response.writeHead(401).end();
  const [, , , name, action = ""] = request.url!.split("/");
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    answer(action, Buffer.concat(parts).toString()).then(
      (result) => {
        const text = JSON.stringify({ status: "ok", plugin: name, action, result });
        response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
        response.end(text);
      },
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
});
server.listen(0, "127.0.0.1", () => console.log(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}`));
