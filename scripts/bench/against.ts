import { join } from "node:path";
import { buildOf } from "../older-build.ts";
import { manyFiles, oneFile, projectTree } from "./material.ts";
import { byTurns, freshFolder, type Measured, programsOf } from "./measure.ts";
import { type Row, secondsText } from "./row.ts";
import { deployTo, LEVEL, openStage, publish } from "./stage.ts";

/** Most that a row may take, as a ratio to the other build: what two runs of one build differ by. */
const ALLOWED = 1.05;

/** Compares publisher and agent with those of another commit: the same hub, the same artifacts, by turns. */
export async function againstRows(ref: string, folder: string, place: string, runs: number): Promise<Row[]> {
  const { root, commit } = buildOf(ref);
  const against = commit.slice(0, 8);
  const rows: Row[] = [];
  const judge = (what: string, { ours, theirs }: Record<"ours" | "theirs", Measured>): void => {
    const ratio = ours.wall / theirs.wall;
    const detail = `${secondsText(ours, theirs)}; ${ours.peakMb} MB against ${theirs.peakMb} MB`;
    rows.push({ name: what, against, ratio, budget: `≤ ${ALLOWED} ×`, ok: ratio <= ALLOWED, detail });
  };
  for (const { what, many, fill } of [oneFile(512), manyFiles(10_000)]) {
    await using stage = await openStage(join(folder, "stage"));
    const other = { ...stage, program: programsOf(root) };
    const source = join(stage.folder, "source");
    fill(await projectTree(source, stage.projectId));
    let version = 0;
    const published = await byTurns(runs, {
      ours: () => publish(stage, source, `1.0.${version++}`, LEVEL, ["--deltas", "0"]),
      theirs: () => publish(other, source, `1.0.${version++}`, LEVEL, ["--deltas", "0"]),
    });
    const deployed = await byTurns(runs, {
      ours: () => deployTo(stage, "1.0.0", freshFolder(stage.folder, "host", many)),
      theirs: () => deployTo(other, "1.0.0", freshFolder(stage.folder, "host", many)),
    });
    judge(`publish ${what}, ${place}`, published);
    judge(`deploy ${what}, ${place}`, deployed);
  }
  return rows;
}
