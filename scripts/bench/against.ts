import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildOf } from "../older-build.ts";
import { pollRates } from "./hub.ts";
import { manyFiles, oneFile, projectTree, smallFiles } from "./material.ts";
import { bin, byTurns, freshFolder, inTurn, type Measured, programsOf } from "./measure.ts";
import { type Row, secondsText } from "./row.ts";
import { hostProject, HostTurns } from "./runtime-peers/host-turns.ts";
import { runtimeOf } from "./runtime-peers/rows.ts";
import { LARGE, SMALL } from "./runtime-peers/running-host.ts";
import { deployTo, LEVEL, openStage, publish } from "./stage.ts";
import { mean, median, spread } from "./statistics.ts";

/** Folder of builds that the users of sandboxes reach as they reach this checkout. */
const REACHED = fileURLToPath(new URL("../../.bench", import.meta.url));
/** Most that a row may take, as a ratio to the other build: what two runs of one build differ by. */
const ALLOWED = 1.05;
/** Least that a hub may answer, as a ratio to the other build. */
const LEAST_RATE = 0.95;
/** Turns of a hub, of three seconds each. */
const HUB_TURNS = 9;
/** The same for rows of the runtime, whose processes are short: the median of turns differs by this much. */
const RUNTIME_ALLOWED = 1.1;

/** Compares publisher and agent with those of another commit: the same hub, the same artifacts, by turns. */
export async function againstRows(ref: string, folder: string, place: string, runs: number): Promise<Row[]> {
  const { root, commit } = buildOf(ref, REACHED);
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

/** Turns of what takes a third of a second: a median of few of them says what the machine did meanwhile. */
const SMALL_TURNS = 25;

/** Compares a small deployment with that of another commit, into an empty root and over the version before. */
export async function smallAgainstRows(ref: string, folder: string, runs: number): Promise<Row[]> {
  const { root, commit } = buildOf(ref, REACHED);
  const against = commit.slice(0, 8);
  await using stage = await openStage(join(folder, "stage"));
  const other = { ...stage, program: programsOf(root) };
  const source = join(stage.folder, "source");
  smallFiles(await projectTree(source, stage.projectId), 3);
  for (const version of ["1.0.0", "1.0.1"]) await publish(stage, source, version, LEVEL, ["--deltas", "0"]);
  const stages = { ours: stage, theirs: other };
  const turns = { fresh: [] as Pair[], again: [] as Pair[] };
  for (let turn = 0; turn < Math.max(runs, SMALL_TURNS); turn++) {
    for (const name of ["ours", "theirs"]) freshFolder(stage.folder, name, false);
    for (const [kind, version] of [
      ["fresh", "1.0.0"],
      ["again", "1.0.1"],
    ] as const) {
      const pair: Pair = { ours: 0, theirs: 0 };
      for (const name of inTurn(["ours", "theirs"] as const, turn))
        pair[name] = (await deployTo(stages[name], version, join(stage.folder, name))).wall * 1000;
      turns[kind].push(pair);
    }
  }
  return Object.entries(turns).map(([kind, pairs]) => {
    const ratio = median(pairs.map(({ ours, theirs }) => ours / theirs));
    const [text, rival] = [inMs(pairs.map(({ ours }) => ours)), inMs(pairs.map(({ theirs }) => theirs))];
    const detail = `${text} against ${rival} ms`;
    const name = `a small deployment, ${kind}`;
    return { name, against, ratio, budget: `≤ ${ALLOWED} ×`, ok: ratio <= ALLOWED, detail };
  });
}

/** Milliseconds of one turn. */
type Pair = Record<"ours" | "theirs", number>;

const inMs = (values: readonly number[]): string => `${median(values).toFixed(0)} (${spread(values)})`;

/** Compares the polls that a hub answers in a second with those of another commit's hub. */
export async function hubAgainstRows(ref: string, folder: string, runs: number): Promise<Row[]> {
  const { root, commit } = buildOf(ref, REACHED);
  const against = commit.slice(0, 8);
  const rates = await pollRates(folder, Math.max(runs, HUB_TURNS), root);
  return Object.entries(rates).map(([name, { ours, theirs }]) => {
    const ratio = median(ours.map((rate, turn) => rate / theirs[turn]!));
    const [text, rival] = [ours, theirs].map((of) => `${Math.round(median(of))}/s (${spread(of)})`);
    const detail = `${text} against ${rival}`;
    return { name, against, ratio, budget: `≥ ${LEAST_RATE} ×`, ok: ratio >= LEAST_RATE, detail };
  });
}

/** Compares the runtime with that of another commit: the same plugins, by turns. */
export async function runtimeAgainstRows(ref: string, turns: number): Promise<Row[]> {
  const { root, commit } = buildOf(ref, REACHED);
  const against = commit.slice(0, 8);
  const rows: Row[] = [];
  type Builds = Record<"ours" | "theirs", number[]>;
  const judge = (what: string, unit: string, { ours, theirs }: Builds, middle = median): void => {
    const ratio = middle(ours) / middle(theirs);
    const [text, other] = [ours, theirs].map((of) => `${middle(of).toFixed(1)} (${spread(of, 1)})`);
    const detail = `${text} against ${other} ${unit}`;
    const ok = ratio <= RUNTIME_ALLOWED;
    rows.push({ name: `runtime: ${what}`, against, ratio, budget: `≤ ${RUNTIME_ALLOWED} ×`, ok, detail });
  };
  await using project = await hostProject();
  const programs = {
    ours: runtimeOf(bin("runtime-serve")),
    theirs: runtimeOf(join(root, "dist/bin/runtime-serve.js")),
  };
  await using hosts = new HostTurns(programs, project, turns);
  const starts = await hosts.starts();
  judge("start to the first answer", "ms", starts.wall);
  // The kernel tells processor time in steps of 10 ms, from which a median jumps.
  judge("start to the first answer, CPU", "ms", starts.cpu, mean);
  judge("start to the first answer, memory", "MB", starts.memory);
  await hosts.open();
  const more = await hosts.more();
  judge("one more plugin", "ms", more.wall);
  judge("one more plugin, CPU", "ms", more.cpu, mean);
  judge("one more plugin, memory", "MB", more.memory);
  judge("works again after a loop", "ms", await hosts.loop());
  judge("a reload", "ms", await hosts.reloads());
  await hosts.warm();
  judge("a reload under load", "ms", await hosts.reloadsUnderLoad());
  judge("a call, 16 connections, CPU", "µs", await hosts.calls(SMALL));
  judge("1 MB in and out, 16 connections, CPU", "µs", await hosts.calls(LARGE));
  return rows;
}
