/** HAProxy before two hubs, with the configuration that operators are given. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Test } from "tap";
import { freePort } from "../free-port.ts";
import { needs, programFile } from "../programs/optional.ts";

const CONFIGURATION = fileURLToPath(new URL("../../../ops/haproxy/haproxy.cfg", import.meta.url));

/** HAProxy, by its addresses. */
export interface Balancer {
  url: string;
  /** The page that tells which hubs it sends to. */
  statusUrl: string;
}

/**
 * Starts HAProxy and waits until it `answers` a request for `/readyz` with this status; it ends with the test.
 *
 * @returns undefined where HAProxy is not installed
 */
export async function startHaproxy(
  t: Test,
  hubs: readonly [string, string],
  answers: number,
): Promise<Balancer | undefined> {
  if (needs("haproxy") !== false) return undefined;
  const [port, status] = [await freePort(), await freePort()];
  const [a, b] = hubs.map((url) => new URL(url).host) as [string, string];
  const addresses = { LISTEN: `127.0.0.1:${port}`, STATUS: `127.0.0.1:${status}`, HUB_A: a, HUB_B: b };
  const environment = { PATH: process.env.PATH, ...addresses };
  const child: ChildProcess = spawn(programFile("haproxy"), ["-db", "-f", CONFIGURATION], {
    env: environment,
    stdio: "ignore",
  });
  await once(child, "spawn");
  t.teardown(async () => {
    if (child.exitCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  const url = `http://127.0.0.1:${port}`;
  for (let attempt = 0; attempt < 300; attempt++) {
    if (child.exitCode !== null) throw new Error(`haproxy ended with ${child.exitCode}`);
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.status === answers) return { url, statusUrl: `http://${addresses.STATUS}` };
    await sleep(100);
  }
  throw new Error(`haproxy does not answer ${answers}`);
}

/** Starts HAProxy before hubs that are ready. @returns its URL, or undefined where HAProxy is not installed */
export async function startBalancer(t: Test, hubs: readonly [string, string]): Promise<string | undefined> {
  return (await startHaproxy(t, hubs, 200))?.url;
}
