import { join } from "node:path";
import { DeltaRivals, type Upgraded } from "./delta-rivals.ts";
import { manyFiles, oneFile, projectTree } from "./material.ts";
import { byTurns, freshFolder, type Measured, shell, warmMemory } from "./measure.ts";
import { judged, type Row, rowOf, secondsText, unjudged } from "./row.ts";
import { deployTo, LEVEL, openStage, publish, type Stage } from "./stage.ts";
import { openThrottle } from "./throttle.ts";

const MBITS = 100;
const sizes = (delta: number, full: number): string =>
  `${(delta / 1e6).toFixed(2)} MB instead of ${(full / 1e6).toFixed(1)} MB`;

/** Compares upgrades by deltas with full deployments, on loopback and at 100 Mbit/s (docs/performance.md#deltas). */
export async function deltaRows(folder: string, place: string, runs: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { what: content, many, fill, edit, edited } of [manyFiles(10_000), oneFile(1024)]) {
    const what = `${content}, ${edited}`;
    const budgets = many ? "many" : "file";
    let url = "";
    await using throttle = await openThrottle(() => url, MBITS);
    for (const line of ["loopback", "slow"] as const) {
      await using stage = await openStage(join(folder, "stage"), line === "slow" ? ["--public-url", throttle.url] : []);
      url = stage.host.SEALIFT_HUB_URL!;
      const source = join(stage.folder, "source");
      const plugin = await projectTree(source, stage.projectId);
      fill(plugin);
      await publish(stage, source, "1.0.0");
      const rivals = new DeltaRivals(join(folder, "rivals"));
      if (line === "loopback") await rivals.keepBefore(source);
      edit(plugin);
      const withDeltas = await publish(stage, source, "1.1.0");
      // A large file takes most of a minute on the slow line, which varies less than the machine.
      const { full, delta } = await byTurns(line === "slow" && !many ? 1 : runs, {
        full: () => upgrade(stage, many, ["--no-delta"]),
        delta: () => upgrade(stage, many),
      });
      const chosen = deltaOf(delta);
      rows.push(rowOf(line === "slow" ? `delta_${budgets}_slow` : "delta_loopback", delta, full, `${what}, ${place}`));
      if (line === "slow") continue;
      const { size_bytes: bytes, full_size_bytes: fullBytes } = chosen;
      rows.push(judged(`delta_${budgets}_bytes`, many ? bytes / fullBytes : bytes / 1e6, sizes(bytes, fullBytes)));
      const ours = { bytes: chosen.size_bytes, wall: delta.wall };
      rows.push(...lowerBounds(what, "rsync -a over loopback", ours, await rivals.rsync(source, runs)));
      rows.push(...lowerBounds(what, "zstd --patch-from", ours, await rivals.zstdPatch(source, runs, LEVEL)));
      const two = ["--delta-from", "1.0.0", "--delta-from", "1.1.0"];
      const { without, publishedWith } = await byTurns(runs, {
        without: () => publish(stage, source, nextVersion(), LEVEL, ["--deltas", "0"]),
        publishedWith: () => publish(stage, source, nextVersion(), LEVEL, two),
      });
      const detail = `${secondsText(publishedWith, without)}; first one ${withDeltas.wall.toFixed(2)} s`;
      rows.push(judged("delta_publish", publishedWith.wall / without.wall, detail, what));
    }
  }
  return rows;
}

/**
 * Compares bytes and time of an upgrade with a rival that checks less or needs more: for information, without a budget.
 */
function lowerBounds(what: string, rival: string, ours: Upgraded, theirs: Upgraded): Row[] {
  const row = (name: string, ratio: number, detail: string): Row =>
    unjudged(`${name}, ${what}`, rival, ratio, "lower bound", detail);
  const kilobytes = ({ bytes }: Upgraded): string => `${(bytes / 1e3).toFixed(1)} kB`;
  return [
    row("bytes", ours.bytes / theirs.bytes, `${kilobytes(ours)} against ${kilobytes(theirs)}`),
    row("upgrade", ours.wall / theirs.wall, secondsText(ours, theirs)),
  ];
}

let patch = 0;
const nextVersion = (): string => `2.0.${patch++}`;

/** Deploys 1.0.0 in full to a new host, unmeasured, and then 1.1.0. */
export async function upgrade(stage: Stage, many: boolean, more: readonly string[] = []): Promise<Measured> {
  const { folder } = stage;
  const root = freshFolder(folder, "host", many);
  await deployTo(stage, "1.0.0", root);
  await shell(`sync -f ${folder}`);
  warmMemory();
  return deployTo(stage, "1.1.0", root, more);
}

/** Returns the delta that an upgrade with `--json` used. @throws Error when it used none */
export function deltaOf({ stdout }: Measured): { size_bytes: number; full_size_bytes: number } {
  for (const line of stdout.split("\n")) {
    if (!line.includes('"delta.chosen"')) continue;
    return JSON.parse(line) as { size_bytes: number; full_size_bytes: number };
  }
  throw new Error("the upgrade took no delta");
}
