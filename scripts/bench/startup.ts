import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { BudgetName } from "./budgets.ts";
import { best, bin, numbersByTurns, program, run } from "./measure.ts";
import { judged, type Row } from "./row.ts";
import { median, spread } from "./statistics.ts";

/** Well-formed public key, with which nothing is ever signed. */
const SIGNER = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

/** Starts of each kind: they are short, and differ by a third. */
const STARTS = 9;

/**
 * Compares the start of programs with Node's own (docs/performance.md): `--help`, the first request of deploy-project,
 * and hub-serve's ready line.
 *
 * @param folder for data folders and project roots
 */
export async function startupRows(folder: string, runs: number): Promise<Row[]> {
  const node = await best(runs * 3, () => run(process.execPath, ["-e", "0"]));
  const rows: Row[] = [];
  for (const name of ["sealift", "hub-serve", "deploy-publish", "deploy-project"]) {
    const help = await best(runs * 3, () => program(name, ["--help"]));
    const detail = `${(help.wall * 1000).toFixed(0)} ms`;
    rows.push(judged(name === "sealift" ? "sealift_help" : "role_help", help.wall / node.wall, detail, name));
  }
  let started = 0;
  const starts = await numbersByTurns(Math.max(runs, STARTS), {
    node: async () => (await run(process.execPath, ["-e", "0"])).wall * 1000,
    request: () => firstRequestMs(join(folder, `root-${started++}`)),
    hub: () => hubReadyMs(join(folder, `hub-${started++}`)),
  });
  const row = (name: BudgetName, values: readonly number[]): Row => {
    const middle = median(values);
    const detail = `${middle.toFixed(0)} ms (${spread(values)}) against ${median(starts.node).toFixed(0)} (${spread(starts.node)})`;
    return judged(name, middle / median(starts.node), detail);
  };
  rows.push(row("first_request", starts.request));
  rows.push(row("hub_ready", starts.hub));
  return rows;
}

/** Measures the milliseconds from the start of deploy-project to its first request. */
async function firstRequestMs(root: string): Promise<number> {
  const hub = createServer((_request, response) => response.writeHead(404).end("{}")).listen(0, "127.0.0.1");
  try {
    await once(hub, "listening");
    const url = `http://127.0.0.1:${(hub.address() as AddressInfo).port}`;
    const project = ["--project-id", "prj_0123456789abcdef", "--deployment-credential", "none"];
    const access = ["--hub-url", url, "--api-key", "none", "--signer-public-key", SIGNER];
    const started = performance.now();
    const asked = once(hub, "request").then(() => performance.now() - started);
    const args = [bin("deploy-project"), ...project, ...access, "--project-root", root];
    const child = spawn(process.execPath, args, { env: { PATH: process.env.PATH }, stdio: "ignore" });
    const ended = once(child, "exit");
    const elapsed = await Promise.race([asked, ended.then(() => undefined)]);
    await ended;
    if (elapsed === undefined) throw new Error("deploy-project ended without a request");
    return elapsed;
  } finally {
    hub.closeAllConnections();
    hub.close();
  }
}

/** Measures the milliseconds from the start of hub-serve to its ready line. */
async function hubReadyMs(dataDir: string): Promise<number> {
  const started = performance.now();
  const args = [bin("hub-serve"), "--data-dir", dataDir, "--listen", "127.0.0.1:0"];
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = (await Promise.race([once(child.stdout, "data"), once(child, "exit")])) as [Buffer | number];
  const elapsed = performance.now() - started;
  child.kill("SIGTERM");
  if (!line.toString().startsWith("ready ")) throw new Error("hub-serve did not become ready");
  if (child.exitCode === null) await once(child, "exit");
  return elapsed;
}
