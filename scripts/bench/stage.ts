import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bin } from "./measure.ts";

/** A hub process on a fresh folder, which ends and goes with the scope. */
export interface BenchHub extends AsyncDisposable {
  process: ChildProcess;
  url: string;
  admin: { SEALIFT_HUB_URL: string; SEALIFT_API_KEY: string };
}

export async function openHub(
  folder: string,
  more: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<BenchHub> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const dataDir = join(folder, "hub");
  const hub = spawn(
    process.execPath,
    [bin("hub-serve"), "--data-dir", dataDir, "--listen", "127.0.0.1:0", "--json", ...more],
    {
      stdio: ["ignore", "pipe", "ignore"],
      env: { PATH: process.env.PATH, ...env },
    },
  );
  const [line] = (await once(hub.stdout, "data")) as [Buffer];
  const { url } = JSON.parse(line.toString()) as { url: string };
  const apiKey = readFileSync(join(dataDir, "admin.key"), "utf8").trim();
  return {
    process: hub,
    url,
    admin: { SEALIFT_HUB_URL: url, SEALIFT_API_KEY: apiKey },
    async [Symbol.asyncDispose]() {
      const exited = once(hub, "exit");
      hub.kill("SIGTERM");
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
