import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, globSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** The folder that `bin/launch.ts` looks for: V8's code cache fits one version of Node on one architecture. */
const FOLDER = `cache/${process.version}-${process.arch}`;

/** Milliseconds after which a program that does not end is a fault of the build. */
const TIMEOUT_MS = 30_000;

/** Runs a program to its end, whatever its exit code. `stopAt`: what it prints when it is to be stopped. */
async function run(
  args: readonly string[],
  env: Record<string, string>,
  { dist, cwd, stopAt }: { dist: string; cwd: string; stopAt?: string },
): Promise<void> {
  const [program, ...rest] = args;
  const child = spawn(process.execPath, [join(dist, `bin/${program}.js`), ...rest], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, ...env },
    stdio: ["ignore", "pipe", "ignore"],
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
  });
  child.stdout.on("data", (chunk: Buffer) => {
    if (stopAt !== undefined && chunk.includes(stopAt)) child.kill("SIGTERM");
  });
  const [, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  if (signal !== null) throw new Error(`dist/bin/${program}.js did not end within ${TIMEOUT_MS / 1000} s`);
}

/**
 * Runs each program as far as its first request, or until it is ready, so that Node keeps the compiled code in
 * `cache/`.
 *
 * @param dist the built programs
 */
export async function fillCompileCache(dist = resolve("dist")): Promise<void> {
  const folder = join(dist, FOLDER);
  rmSync(join(dist, "cache"), { recursive: true, force: true });
  // Not every Node 24 can read a cache that was moved.
  if (Number(process.versions.node.split(".")[0]) < 25) return;
  mkdirSync(folder, { recursive: true });
  const cwd = mkdtempSync(join(tmpdir(), "sealift-build-"));
  let requests = 0;
  const hub = createServer((_request, response) => {
    requests++;
    response.writeHead(404).end("{}");
  }).listen(0, "127.0.0.1");
  const write = { NODE_COMPILE_CACHE: folder, NODE_COMPILE_CACHE_PORTABLE: "1" };
  try {
    await once(hub, "listening");
    const at = ["--hub-url", `http://127.0.0.1:${(hub.address() as AddressInfo).port}`, "--api-key", "none"];
    const deployment = [...at, "--project-root", join(cwd, "root")];
    const plugin = ["--signing-secret", "none", "--install-plan", "install.yaml"];
    await run(["sealift", "plan", "init", "none"], write, { dist, cwd });
    const key = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    const project = ["--project-id", "prj_0123456789abcdef", "--deployment-credential", "none"];
    for (const asking of [
      ["deploy-project", ...deployment, ...project, "--signer-public-key", key],
      ["deploy-marketplace", "none", ...deployment, ...plugin],
      ["watch", "plugin:none", "--once", ...deployment, ...plugin],
      ["sealift", "keys", "list", ...at],
    ]) {
      const before = requests;
      await run(asking, write, { dist, cwd });
      if (requests === before) throw new Error(`${asking.join(" ")} asked the hub for nothing`);
    }
    await run(["hub-serve", "--data-dir", join(cwd, "hub"), "--listen", "127.0.0.1:0"], write, {
      dist,
      cwd,
      stopAt: "ready",
    });
    // Node lets only their owner read them.
    for (const path of globSync(`${folder}/*/*`)) chmodSync(path, 0o644);
  } finally {
    hub.close();
    rmSync(cwd, { recursive: true, force: true });
  }
}
