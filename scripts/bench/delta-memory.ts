import { join } from "node:path";
import { upgrade } from "./delta.ts";
import { manyFiles, oneFile, projectTree, type Shape } from "./material.ts";
import { type Measured, peakMbOf } from "./measure.ts";
import { judged, type Row } from "./row.ts";
import { openStage, publish } from "./stage.ts";

/** Measures the peak memory of hub, publisher and agent with deltas of one file of some GiB, and of 100,000 files. */
export async function deltaMemoryRows(folder: string, gib: number): Promise<Row[]> {
  return [...(await rowsOf(folder, oneFile(gib * 1024))), ...(await rowsOf(folder, manyFiles(100_000)))];
}

async function rowsOf(folder: string, { what, many, fill, edit }: Shape): Promise<Row[]> {
  await using stage = await openStage(join(folder, "stage"));
  const source = join(stage.folder, "source");
  const plugin = await projectTree(source, stage.projectId);
  fill(plugin);
  await publish(stage, source, "1.0.0");
  edit(plugin);
  const published = await publish(stage, source, "1.1.0");
  const upgraded = await upgrade(stage, many);
  if (!upgraded.stdout.includes('"delta.chosen"')) throw new Error("the upgrade took no delta");
  const full = await upgrade(stage, many, ["--no-delta"]);
  const limit = many ? "many_memory" : "agent_memory";
  const row = (name: string, { peakMb, wall }: Measured): Row =>
    judged(limit, peakMb, `${wall.toFixed(0)} s`, `${name}, ${what}`);
  return [
    row("deploy-publish with a delta", published),
    row("deploy-project by a delta", upgraded),
    row("deploy-project in full", full),
    judged("hub_memory", peakMbOf(stage.hub.pid!), "uploads and downloads", `deltas, ${what}`),
  ];
}
