import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../../test/support/until.ts";
import { projectTree } from "../bench/material.ts";
import { bin } from "../bench/measure.ts";
import { openStage, publish, type Stage } from "../bench/stage.ts";
import { type LineFaults, openBadLine } from "./bad-line.ts";

/** Outcome of two deployments by a watch over a bad line. */
export interface LineOutcome {
  /** Seconds from the start of the watch to the end of its first deployment. */
  firstSeconds: number;
  /** Seconds from the end of a publication to that of its deployment. */
  nextSeconds: number;
  /** Connections that the line carried. */
  connections: number;
  /** Whether hints came over it in the end. */
  isHinted: boolean;
}

const MOST_MS = 300_000;

/** Publishes the project once more under a version. */
async function publishTo(stage: Stage, version: string): Promise<void> {
  const source = join(stage.folder, "source");
  if (version === FIRST) await projectTree(source, stage.projectId);
  writeFileSync(join(source, "version.txt"), version);
  await publish(stage, source, version);
}

const [FIRST, NEXT] = ["1.0.0", "1.1.0"];

/**
 * Has a watch follow a project over a line with faults, and publishes another version.
 *
 * @param restMs time that the watch idles before that, in milliseconds
 */
export async function watchOver(
  folder: string,
  faults: LineFaults,
  { intervalS = 10, restMs = 0 } = {},
): Promise<LineOutcome> {
  mkdirSync(folder, { recursive: true });
  await using stage = await openStage(join(folder, "stage"));
  await using line = await openBadLine(stage.publisher["SEALIFT_HUB_URL"]!, faults);
  await publishTo(stage, FIRST);
  const options = ["--hub-url", line.url, "--project-root", join(folder, "root"), "--host-id", "pier-7"];
  const trust = ["--signer-public-key", join(stage.folder, "keys", "signer.pub")];
  const began = performance.now();
  const watch = spawn(
    process.execPath,
    [bin("watch"), `project:${stage.projectId}`, ...options, ...trust, "--interval", `${intervalS}s`, "--json"],
    { stdio: ["ignore", "pipe", "inherit"], env: { PATH: process.env.PATH, HOME: folder, ...stage.host } },
  );
  const deployed: number[] = [];
  let isHinted = false;
  createInterface({ input: watch.stdout }).on("line", (text) => {
    const { event } = JSON.parse(text) as { event: string };
    if (event === "deploy.done") deployed.push(performance.now());
    if (event === "hints.connected") isHinted = true;
    if (event === "hints.lost") isHinted = false;
  });
  try {
    await until(() => deployed.length === 1, MOST_MS);
    await sleep(restMs);
    await publishTo(stage, NEXT);
    const published = performance.now();
    await until(() => deployed.length === 2, MOST_MS);
    const seconds = (from: number, to: number): number => (to - from) / 1000;
    return {
      firstSeconds: seconds(began, deployed[0]!),
      nextSeconds: seconds(published, deployed[1]!),
      connections: line.connections(),
      isHinted,
    };
  } finally {
    const exited = once(watch, "exit");
    if (watch.exitCode === null && watch.kill()) await exited;
  }
}
