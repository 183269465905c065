import { best, program, run } from "./measure.ts";
import { atMost, type Row } from "./row.ts";

/** `--help` of every program against Node's own start (docs/performance.md). */
export async function startupRows(runs: number): Promise<Row[]> {
  const node = await best(runs * 3, () => run(process.execPath, ["-e", "0"]));
  const rows: Row[] = [];
  for (const name of ["sealift", "hub-serve", "deploy-publish", "deploy-project"]) {
    const help = await best(runs * 3, () => program(name, ["--help"]));
    rows.push(atMost(`${name} --help`, "node -e 0", help.wall / node.wall, 3, `${(help.wall * 1000).toFixed(0)} ms`));
  }
  return rows;
}
