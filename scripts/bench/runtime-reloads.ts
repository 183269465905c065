import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { createRuntime } from "../../lib/runtime/runtime.ts";
import { BenchProject, configuration } from "./runtime-project.ts";
import { type BenchRow, round } from "./runtime-row.ts";

/** Measures the memory that a thousand reloads leave: Node never frees a generation of ES modules; all else must go. */

const KINDS = {
  esm: { file: "src/main.mjs", mode: "trusted", before: "export default " },
  cjs: { file: "src/main.cjs", mode: "trusted", before: "module.exports = " },
  sandboxed: { file: "src/main.mjs", mode: "sandboxed", before: "export default " },
} as const;
type Kind = keyof typeof KINDS;

/** Bytes of source of the plugin, most of it code that is never called. */
const source = (before: string): string =>
  `${Array.from({ length: 60 }, (_, index) => `function unused${index}(a, b) { return a.map((x) => x * ${index} + b); }`).join("\n")}
${before}{ actions: { echo: (payload) => payload } };`;

const heap = (): number => {
  for (let turn = 0; turn < 5; turn++) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

/** Bytes of heap that each reload leaves behind. Runs in a process of its own, with `--expose-gc`. */
async function measure(kind: Kind, reloads: number): Promise<{ perReload: number; sourceBytes: number }> {
  await using project = await BenchProject.create();
  const { file, mode, before } = KINDS[kind];
  const text = source(before);
  await project.plugin("plug", mode, text, file);
  const runtime = await createRuntime({ configuration, root: project.root, logger: pino({ level: "silent" }) });
  try {
    await runtime.lifecycle.loadAll();
    const warm = Math.ceil(reloads / 10);
    for (let reload = 0; reload < warm; reload++) await runtime.lifecycle.reload("plug");
    await new Promise((resolve) => setTimeout(resolve, 500));
    const start = heap();
    for (let reload = 0; reload < reloads; reload++) await runtime.lifecycle.reload("plug");
    await new Promise((resolve) => setTimeout(resolve, 1500));
    return { perReload: (heap() - start) / reloads, sourceBytes: Buffer.byteLength(text) };
  } finally {
    await runtime.close();
  }
}

function apart(kind: Kind, reloads: number): { perReload: number; sourceBytes: number } {
  const self = fileURLToPath(import.meta.url);
  const { stdout, stderr } = spawnSync(process.execPath, ["--expose-gc", self, kind, String(reloads)], {
    encoding: "utf8",
  });
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout) as { perReload: number; sourceBytes: number };
}

const KILOBYTE = 1024;
/** Bytes a reload that "leaves nil beyond noise" may leave. */
const NOISE = 1 * KILOBYTE;

export async function benchReloads({ reloads = 1000, sandboxedReloads = 50 } = {}): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const kind of Object.keys(KINDS) as Kind[]) {
    const count = kind === "sandboxed" ? sandboxedReloads : reloads;
    const { perReload, sourceBytes } = apart(kind, count);
    const limit = kind === "esm" ? 6 * KILOBYTE + 5 * sourceBytes : kind === "cjs" ? NOISE : 20 * NOISE;
    rows.push({
      name: `runtime: ${count} reloads, ${kind}`,
      against: kind === "esm" ? "6 KB plus 5 × the source" : "nil beyond noise",
      ratio: round(perReload / limit),
      budget: `≤ ${round(limit / KILOBYTE, 1)} KB each`,
      ok: perReload <= limit,
      detail: `${round(perReload / KILOBYTE)} KB each, with ${round(sourceBytes / KILOBYTE, 1)} KB of source`,
    });
  }
  return rows;
}

if (import.meta.main) {
  const [kind, reloads] = process.argv.slice(2);
  if (kind === undefined) console.table(await benchReloads());
  else process.stdout.write(JSON.stringify(await measure(kind as Kind, Number(reloads))));
}
