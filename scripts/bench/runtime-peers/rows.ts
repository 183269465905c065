import { join } from "node:path";
import type { BudgetName } from "../budgets.ts";
import { bin } from "../measure.ts";
import { judged, type Row, unjudged } from "../row.ts";
import { median, spread } from "../statistics.ts";
import { hostProject, HostTurns } from "./host-turns.ts";
import { type HostProgram, LARGE, RunningHost, SMALL } from "./running-host.ts";

/** Compares the runtime with what people would use instead, in turn. */

type Kind = "ours" | "fork" | "bwrap" | "piscina";

export const runtimeOf = (file: string): HostProgram => ({
  words: [file, "--config", "integration.yaml"],
  isRuntime: true,
});

/** Returns the programs that this machine has. */
async function programs(root: string): Promise<Record<Kind, HostProgram>> {
  const found: [Kind, HostProgram][] = [["ours", runtimeOf(bin("runtime-serve"))]];
  for (const kind of ["fork", "bwrap", "piscina"] as const) {
    const program = { words: [join(root, "host.mjs"), kind], isRuntime: false };
    try {
      await using _host = await RunningHost.start(program, root);
      found.push([kind, program]);
    } catch {
      console.error(`${kind} is not measured: it cannot be started here`);
    }
  }
  return Object.fromEntries(found) as Record<Kind, HostProgram>;
}

export async function runtimePeerRows(turns: number): Promise<Row[]> {
  await using project = await hostProject();
  const found = await programs(project.root);
  const all = Object.keys(found) as Kind[];
  const rows: Row[] = [];
  /** Judges Sealift against fork, and shows the others. */
  const judge = (name: BudgetName, of: Record<Kind, number[]>, unit: string, asRatio = true): void => {
    const [ours, fork] = [median(of.ours), median(of.fork)];
    const digits = ours < 100 ? 1 : 0;
    const detail = all.map((kind) => `${kind} ${median(of[kind]).toFixed(digits)} (${spread(of[kind], digits)})`);
    rows.push(judged(name, asRatio ? ours / fork : ours, `${unit}: ${detail.join(", ")}`));
  };
  await using hosts = new HostTurns(found, project, turns);
  const starts = await hosts.starts();
  judge("peer_start", starts.wall, "ms");
  judge("peer_start_cpu", starts.cpu, "ms of CPU");
  await hosts.open();
  const more = await hosts.more();
  judge("peer_more", more.wall, "ms");
  judge("peer_memory", more.memory, "MB");
  judge("peer_loop", await hosts.loop(), "ms", false);
  await hosts.warm();
  judge("peer_call", await hosts.calls(SMALL), "µs of CPU");
  judge("peer_large", await hosts.calls(LARGE), "µs of CPU");
  judge("peer_reload", await hosts.reloads(), "ms", false);
  const counts = all.map((kind) => `${kind} ${hosts.failed[kind]}`).join(", ");
  rows.push(judged("peer_failed", hosts.failed.ours, counts));
  if (!all.includes("piscina")) rows.push(unjudged("runtime: piscina", "–", 0, "", "not installed"));
  return rows;
}
