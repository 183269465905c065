import { pino } from "pino";
import { createRuntime } from "../../lib/runtime/runtime.ts";
import { BenchProject, configuration } from "./runtime-project.ts";
import { type BenchRow, round } from "./runtime-row.ts";

/** Measures the start of a runtime with many plugins. */

const source = (index: number): string =>
  `import { definePlugin } from "sealift/sdk";
export default definePlugin({
  actions: { echo: (payload) => payload },
  routes: [{ method: "GET", path: "/n", handler: () => ({ n: ${index} }) }],
});`;

async function start(mode: "trusted" | "sandboxed", count: number): Promise<number> {
  await using project = await BenchProject.create();
  for (let index = 0; index < count; index++) await project.plugin(`plugin-${index}`, mode, source(index));
  const started = performance.now();
  const runtime = await createRuntime({ configuration, root: project.root, logger: pino({ level: "silent" }) });
  try {
    await runtime.listen();
    const seconds = (performance.now() - started) / 1000;
    const failed = runtime.catalogue.all.filter(({ state }) => state !== "loaded");
    if (failed.length > 0)
      throw new Error(failed.map(({ name, fault }) => `${name}: ${fault?.message ?? ""}`).join("; "));
    return seconds;
  } finally {
    await runtime.close();
  }
}

export async function benchStart({ trusted = 100, sandboxed = 10 } = {}): Promise<BenchRow[]> {
  const trustedSeconds = await start("trusted", trusted);
  const sandboxedSeconds = await start("sandboxed", sandboxed);
  return [
    {
      name: `runtime: start with ${trusted} trusted plugins`,
      against: "3 s",
      ratio: round(trustedSeconds / 3),
      budget: "< 3 s",
      ok: trustedSeconds < 3,
      detail: `${round(trustedSeconds)} s`,
    },
    {
      name: `runtime: start with ${sandboxed} sandboxed plugins`,
      against: "reported",
      ratio: round(sandboxedSeconds / sandboxed, 3),
      budget: "none",
      ok: true,
      detail: `${round(sandboxedSeconds)} s, ${round((sandboxedSeconds / sandboxed) * 1000, 0)} ms each`,
    },
  ];
}

if (import.meta.main) console.table(await benchStart());
