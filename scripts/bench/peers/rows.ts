import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { BudgetName } from "../budgets.ts";
import { deltaOf } from "../delta.ts";
import { manyFiles, oneFile, projectTree, type Shape } from "../material.ts";
import { type Measured, warmMemory } from "../measure.ts";
import { judged, type Row, secondsText, unjudged } from "../row.ts";
import { deployTo, openStage, publish } from "../stage.ts";
import { median } from "../statistics.ts";
import { type Peer, PEERS } from "./programs.ts";

const WORK = ["publish", "deploy", "upgrade"] as const;
type Work = (typeof WORK)[number];
/** Seconds, and the bytes of the upgrade if known. */
type Times = Record<Work, number> & { bytes?: number | undefined };

const FILES = Number(process.env["BENCH_PEER_FILES"] ?? 10_000);
const MIB = Number(process.env["BENCH_PEER_MIB"] ?? 512);

type Budgets = Partial<Record<Work, readonly [peer: string, budget: BudgetName]>>;

const SHAPES: readonly (Shape & { budgets: Budgets })[] = [
  {
    ...manyFiles(FILES),
    budgets: { deploy: ["casync", "deploy_many_peer"], publish: ["OCI", "publish_many_peer"] },
  },
  {
    ...oneFile(MIB),
    budgets: { deploy: ["casync", "deploy_file_peer"], publish: ["OCI", "publish_file_peer"] },
  },
];

async function timed(attempt: () => Promise<Measured>): Promise<number> {
  warmMemory();
  return (await attempt()).wall;
}

/** Publishes, deploys, edits, publishes again and upgrades with Sealift. */
async function ourTimes(folder: string, { fill, edit }: Shape): Promise<Times> {
  await using stage = await openStage(join(folder, "stage"));
  const source = join(stage.folder, "source");
  const plugin = await projectTree(source, stage.projectId);
  fill(plugin);
  const root = join(stage.folder, "host");
  const first = await timed(() => publish(stage, source, "0.9.0", "3", ["--deltas", "0"]));
  // With the index from which a delta is made.
  await publish(stage, source, "1.0.0");
  const deployed = await timed(() => deployTo(stage, "1.0.0", root));
  edit(plugin);
  await publish(stage, source, "1.1.0");
  warmMemory();
  const upgraded = await deployTo(stage, "1.1.0", root);
  return { publish: first, deploy: deployed, upgrade: upgraded.wall, bytes: deltaOf(upgraded).size_bytes };
}

/** Times the operations with a peer. */
async function peerTimes(folder: string, { open }: Peer, { fill, edit }: Shape): Promise<Times> {
  rmSync(folder, { recursive: true, force: true });
  const [source, own] = [join(folder, "source"), join(folder, "peer")];
  for (const path of [source, own]) mkdirSync(path, { recursive: true });
  fill(source);
  await using stage = await open(own);
  const before = join(folder, "before");
  const first = await timed(() => stage.publish(source, 1));
  const deployed = await timed(() => stage.deploy(1, before));
  edit(source);
  await stage.publish(source, 2);
  const upgraded = await timed(() => stage.upgrade(before, join(folder, "after")));
  return { publish: first, deploy: deployed, upgrade: upgraded, bytes: await stage.upgradeBytes?.() };
}

const missing = ({ programs }: Peer): string[] =>
  programs.filter((name) => spawnSync("sh", ["-c", `command -v ${name}`]).status !== 0);

/** Returns the median of each figure. */
const middle = (all: readonly Times[]): Times => ({
  publish: median(all.map((times) => times.publish)),
  deploy: median(all.map((times) => times.deploy)),
  upgrade: median(all.map((times) => times.upgrade)),
  bytes: all.at(-1)?.bytes,
});

const bytesText = (bytes: number | undefined): string => (bytes === undefined ? "" : `${(bytes / 1e6).toFixed(2)} MB`);

/**
 * Measures what people would use instead, on the same bytes and in turn: publish, deploy, upgrade. Writes a table for
 * docs/performance.md to stderr. Names and leaves out a peer whose programs are not installed, or fail.
 */
export async function peerRows(folder: string, runs: number): Promise<Row[]> {
  const peers = PEERS.filter((peer) => {
    const lacks = missing(peer);
    if (lacks.length > 0) console.error(`${peer.name} is left out: not installed: ${lacks.join(", ")}`);
    return lacks.length === 0;
  });
  const rows: Row[] = [];
  let table = "";
  for (const shape of SHAPES) {
    const all = new Map<string, Times[]>();
    const keep = (name: string, times: Times) => all.set(name, [...(all.get(name) ?? []), times]);
    for (let run = 0; run < runs; run++) {
      keep("Sealift", await ourTimes(join(folder, "ours"), shape));
      for (const peer of peers)
        try {
          keep(peer.name, await peerTimes(join(folder, "theirs"), peer, shape));
        } catch (error) {
          console.error(`${peer.name} failed with ${shape.what}: ${(error as Error).message}`);
        }
      rmSync(join(folder, "theirs"), { recursive: true, force: true });
    }
    const middles = new Map([...all].map(([name, times]) => [name, middle(times)]));
    const ours = middles.get("Sealift")!;
    for (const work of WORK)
      for (const [name, theirs] of middles) {
        if (name === "Sealift") continue;
        const ratio = ours[work] / theirs[work];
        const detail = secondsText({ wall: ours[work] }, { wall: theirs[work] });
        const [peer, budget] = shape.budgets[work] ?? [];
        rows.push(
          budget !== undefined && peer === name
            ? judged(budget, ratio, detail)
            : unjudged(`${work}, ${shape.what}`, name, ratio, "for comparison", detail),
        );
      }
    table += `\n| ${shape.what}, ${shape.edited} | checks | publish | deploy | upgrade | its bytes |\n| --- | --- | --- | --- | --- | --- |\n`;
    for (const [name, times] of middles) {
      const checks = PEERS.find((peer) => peer.name === name)?.checks ?? "encrypted, signed, every file";
      const cells = [name, checks, ...WORK.map((work) => `${times[work].toFixed(2)} s`), bytesText(times.bytes)];
      table += `| ${cells.join(" | ")} |\n`;
    }
  }
  console.error(table);
  return rows;
}
