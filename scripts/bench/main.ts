/**
 * `npm run bench`: the budgets as ratios against their rivals in one run. Prints a table and writes bench-results.json.
 * Arguments name the groups to run (default: all); `--against REF` compares with another commit instead, which is built
 * once, in the groups `small`, `project`, `hub` and `runtime`; BENCH_RUNS says how often each measurement is taken (3),
 * BENCH_GIB how large the memory check's artifact is (4), BENCH_IDLE_S for how many seconds a watch idles (150),
 * BENCH_DISK and BENCH_TMPFS where.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { scriptArguments } from "../arguments.ts";
import { againstRows, hubAgainstRows, runtimeAgainstRows, smallAgainstRows } from "./against.ts";
import { deltaRows } from "./delta.ts";
import { deltaDiskRows } from "./delta-disk.ts";
import { deltaMemoryRows } from "./delta-memory.ts";
import { hubRows } from "./hub.ts";
import { idleRows } from "./idle/rows.ts";
import { kitRows } from "./kits.ts";
import { describeMachine, machineLine } from "./machine.ts";
import { manyFilesRow, marketplaceRows } from "./marketplace.ts";
import { mirrorRows } from "./mirror.ts";
import { peerRows } from "./peers/rows.ts";
import { memoryRows, projectRows } from "./project.ts";
import { inColumns, type Row } from "./row.ts";
import { benchHeavyBodies } from "./runtime-bodies.ts";
import { benchSandboxedRoutes, benchTrustedCalls } from "./runtime-calls.ts";
import { runtimePeerRows } from "./runtime-peers/rows.ts";
import { benchSandboxedCalls } from "./runtime-sandbox.ts";
import { benchWalls } from "./runtime-walls.ts";
import { startupRows } from "./startup.ts";

const runs = Number(process.env.BENCH_RUNS ?? 3);
const gib = Number(process.env.BENCH_GIB ?? 4);
const idleSeconds = Number(process.env.BENCH_IDLE_S ?? 150);
const disk = join(process.env.BENCH_DISK ?? tmpdir(), `sealift-bench-${process.pid}`);
const tmpfs = join(process.env.BENCH_TMPFS ?? "/dev/shm", `sealift-bench-${process.pid}`);

type Groups = Record<string, () => Promise<Row[]>>;

const own: Groups = {
  startup: () => startupRows(tmpfs, runs),
  "project-tmpfs": () => projectRows(tmpfs, "tmpfs", runs),
  "project-disk": () => projectRows(disk, "disk", runs),
  peers: () => peerRows(tmpfs, runs),
  marketplace: async () => [
    ...(await marketplaceRows(tmpfs, "tmpfs", runs)),
    ...(await marketplaceRows(disk, "disk", runs)),
  ],
  delta: () => deltaRows(disk, "disk", runs),
  "delta-disk": () => deltaDiskRows(disk),
  "delta-memory": () => deltaMemoryRows(disk, gib),
  hub: () => hubRows(tmpfs, runs),
  kits: () => kitRows(disk, runs),
  idle: () => idleRows(disk, idleSeconds),
  mirror: () => mirrorRows(disk, runs),
  "runtime-calls": async () => [
    ...(await benchTrustedCalls()),
    ...(await benchSandboxedCalls()),
    ...(await benchSandboxedRoutes()),
  ],
  "runtime-bodies": () => benchHeavyBodies(),
  "runtime-walls": () => benchWalls(),
  "runtime-peers": () => runtimePeerRows(runs),
  memory: async () => [
    ...(await memoryRows(disk, gib, "3")),
    ...(await memoryRows(disk, Math.min(gib, 1), "9")),
    await manyFilesRow(tmpfs),
  ],
};

const { positionals, values } = scriptArguments(import.meta.filename, {
  allowPositionals: true,
  options: { against: { type: "string", default: "" } },
});
const { against } = values;
const other: Groups = {
  small: () => smallAgainstRows(against, tmpfs, runs),
  project: () => againstRows(against, tmpfs, "tmpfs", runs),
  hub: () => hubAgainstRows(against, tmpfs, runs),
  runtime: () => runtimeAgainstRows(against, runs),
};
const groups = against === "" ? own : other;
const chosen = positionals.filter((name) => name !== "");
const unknown = chosen.filter((name) => !(name in groups));
if (unknown.length > 0) {
  console.error(`Unknown group: ${unknown.join(", ")}. Groups are ${Object.keys(groups).join(", ")}.`);
  process.exit(2);
}

const machine = describeMachine(dirname(disk));
const rows: Row[] = [];
try {
  for (const [name, measure] of Object.entries(groups)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue;
    console.error(`measuring ${name} …`);
    for (const folder of [disk, tmpfs]) mkdirSync(folder, { recursive: true });
    rows.push(...(await measure()));
  }
} finally {
  for (const folder of [disk, tmpfs]) rmSync(folder, { recursive: true, force: true });
}

const lines = rows.map(({ name, against, ratio, budget, ok, detail }) => {
  const number = ratio >= 20 ? ratio.toFixed(0) : ratio.toFixed(2);
  return [name, against, number, budget, ok ? "ok" : "MISSED", detail];
});
console.log(machineLine(machine));
console.log(inColumns([["what", "against", "measured", "budget", "", "detail"], ...lines]));
const results = { taken_at: new Date().toISOString(), machine, runs, rows };
writeFileSync("bench-results.json", `${JSON.stringify(results, null, 2)}\n`);
console.log(`${rows.filter(({ ok }) => ok).length} of ${rows.length} budgets met; written to bench-results.json`);
