import type { Journal } from "../../releases/journal.ts";
import type { Item, Layout } from "../../releases/layout.ts";
import { recover } from "../../releases/recovery.ts";
import { currentRelease } from "../../releases/release.ts";
import { writeReport } from "../reports/report.ts";
import { noSupervisor } from "../supervisors/none.ts";
import type { Supervisor, SupervisorName } from "../supervisors/supervisor.ts";
import type { Emit } from "./events.ts";

/** Milliseconds that an undo may take to bring units back; nothing interrupts it. */
const UNDO_LIMIT_MS = 300_000;

/** What runs the plugins. */
export interface SupervisorChoice {
  name: SupervisorName;
  make?: (installed: () => readonly string[]) => Supervisor;
}

const pluginsAmong = (items: readonly Item[]): string[] =>
  items.filter(({ section }) => section === "plugins").map(({ id }) => id);

/** Lets the units that a deployment touched run what the links name now, after it was undone. Failures are warnings. */
export async function bringBack(
  layout: Layout,
  journal: Journal,
  supervisor: SupervisorChoice,
  emit: Emit,
): Promise<void> {
  if (journal.touched.length === 0 || supervisor.name === "none") return;
  const switched = journal.phase === "switching";
  const previous = pluginsAmong(journal.previous_items);
  const installed = switched ? previous : pluginsAmong((await currentRelease(layout, journal.target))?.items ?? []);
  const units = supervisor.make?.(() => installed) ?? noSupervisor();
  const signal = AbortSignal.timeout(UNDO_LIMIT_MS);
  for (const plugin of journal.touched) {
    const remains = !switched || (plugin === null ? previous.length > 0 : previous.includes(plugin));
    try {
      if (remains) await units.restart(plugin, signal);
      else await units.stop(plugin, signal);
    } catch (error) {
      const what = `${plugin ?? "the project"} could not be ${remains ? "restarted" : "stopped"}`;
      emit({ event: "warning", message: `After the rollback ${what}: ${(error as Error).message}` });
    }
  }
}

/** Undoes what a killed run left, brings its units back, and writes the report that it could not write. Only under the lock. */
export async function undoInterrupted(layout: Layout, supervisor: SupervisorChoice, emit: Emit): Promise<void> {
  const interrupted = await recover(layout);
  if (interrupted === undefined) return;
  await bringBack(layout, interrupted, supervisor, emit);
  const { target, slug, kind, deployment_id, requested_version, resolved_version, started_at, host_id } = interrupted;
  await writeReport(layout, target, {
    slug,
    kind,
    status: interrupted.phase === "switching" && interrupted.previous !== null ? "rolled_back" : "failed",
    requested_version,
    resolved_version,
    repo: null,
    started_at,
    completed_at: new Date().toISOString(),
    error_message: "The deployment was interrupted and has been undone.",
    host_id,
    deployment_id,
    code: "interrupted",
    steps: [],
    bytes: 0,
    artifact_sha256: null,
    warnings: [],
  });
  emit({ event: "recovery.done", version: resolved_version, deployment_id });
}
