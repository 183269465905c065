import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { largeFile, projectTree } from "./material.ts";
import { bin, shell } from "./measure.ts";
import { openStage, publish, type Stage } from "./project.ts";
import { atMost, type Row } from "./row.ts";

/** Part of a deployment that waiting for the disk may take (docs/performance.md). */
const BUDGET = 0.15;

/** Seconds of a deployment, and of its switch. Most of the switch is the barrier. */
interface Times {
  wall: number;
  switch: number;
}

async function deploy({ folder, projectId, host }: Stage, durability: string): Promise<Times> {
  const root = join(folder, "host");
  rmSync(root, { recursive: true, force: true });
  // Earlier writes that wait for the disk would be counted as the barrier's.
  await shell(`sync -f ${folder}`);
  const key = join(folder, "keys", "signer.pub");
  const args = ["--project-id", projectId, "--signer-public-key", key, "--project-root", root, "--json"];
  const started = performance.now();
  const child = spawn(process.execPath, [bin("deploy-project"), ...args, "--durability", durability], {
    env: { PATH: process.env.PATH, ...host },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  const at = new Map<string, number>();
  for await (const line of createInterface({ input: child.stdout }))
    at.set((JSON.parse(line) as { event: string }).event, performance.now());
  const [code] = (await ended) as [number | null];
  if (code !== 0) throw new Error(`deploy-project ended with ${code}`);
  const between = (from: number, to: number): number => (to - from) / 1000;
  return {
    wall: between(started, performance.now()),
    switch: between(at.get("switch.started")!, at.get("switch.done")!),
  };
}

/** Returns the run with the smallest part of its time in the switch: the one that other work disturbed least. */
async function best(stage: Stage, durability: string, runs: number): Promise<Times> {
  const all: Times[] = [];
  for (let run = 0; run < runs; run++) all.push(await deploy(stage, durability));
  return all.toSorted((a, b) => a.switch / a.wall - b.switch / b.wall)[0]!;
}

/**
 * The cost of durability: by how much the switch takes longer when it waits for the disk. The whole deployments are no
 * measure of that: they differ by more from run to run.
 */
export async function barrierRows(folder: string, runs: number): Promise<Row[]> {
  await using stage = await openStage(join(folder, "stage"));
  const source = join(stage.folder, "source");
  largeFile(join(await projectTree(source, stage.projectId), "cargo.bin"), 1024);
  await publish(stage, source, "1.0.0", "3", ["--deltas", "0"]);
  const full = await best(stage, "full", runs);
  const none = await best(stage, "none", runs);
  const cost = (full.switch - none.switch) / full.wall;
  const detail = `a switch of ${full.switch.toFixed(2)} s against ${none.switch.toFixed(2)} s, in ${full.wall.toFixed(2)} s`;
  return [atMost("barrier, 1 GiB in one file, disk", "the deployment", cost, BUDGET, detail)];
}
