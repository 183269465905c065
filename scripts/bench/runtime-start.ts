import { RuntimeProgram } from "./runtime-program.ts";
import { BenchProject } from "./runtime-project.ts";
import { type BenchRow, round } from "./runtime-row.ts";

/** Measures the start of a runtime with many plugins, from the start of the program to its ready line. */

const source = (index: number): string =>
  `import { definePlugin } from "sealift/sdk";
export default definePlugin({
  actions: { echo: (payload) => payload },
  routes: [{ method: "GET", path: "/n", handler: () => ({ n: ${index} }) }],
});`;

async function start(mode: "trusted" | "sandboxed", count: number): Promise<number> {
  await using project = await BenchProject.create();
  for (let index = 0; index < count; index++) await project.plugin(`plugin-${index}`, mode, source(index));
  await using program = await RuntimeProgram.start(project);
  return program.readyMs / 1000;
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
