import { readJournal } from "../../releases/journal.ts";
import type { Layout, Target } from "../../releases/layout.ts";
import { recoverJournal, sweepTarget } from "../../releases/recovery.ts";
import { interruptedReport } from "../reports/draft.ts";
import { hasReport, writeReport } from "../reports/report.ts";
import type { SupervisorChoice } from "../supervisors/supervisor.ts";
import type { Emit } from "./events.ts";
import { type Deployed, lockRoot, type Run } from "./run.ts";
import { bringBack } from "./undo.ts";

/**
 * Ends what a killed run left in the journal, and reports it: a release that was committed stays, anything else is undone and its units are
 * brought back. Only under the lock of the root.
 *
 * @throws DeploymentError `journal_unreadable`
 */
export async function endInterrupted(layout: Layout, supervisor: SupervisorChoice, emit: Emit): Promise<void> {
  await recoverJournal(layout, async (entry) => {
    const { target, deployment_id, resolved_version: version, phase, report } = entry;
    if (phase === "committed") {
      if (report !== null && !(await hasReport(layout, target, report))) await writeReport(layout, target, report);
      emit({ event: "recovery.done", version, deployment_id, outcome: "finished" });
      return;
    }
    await bringBack(layout, entry, supervisor, emit);
    const replaced = phase === "switching" && entry.previous !== null;
    await writeReport(layout, target, interruptedReport(entry, replaced ? "rolled_back" : "failed"));
    emit({ event: "recovery.done", version, deployment_id, outcome: "undone" });
  });
}

/** Removes what killed runs of a target left in staging, and reports them. Only under the lock of the target. */
export async function sweepInterrupted(layout: Layout, target: Target, emit: Emit): Promise<void> {
  for (const attempt of await sweepTarget(layout, target)) {
    await writeReport(layout, target, interruptedReport(attempt, "failed"));
    const { resolved_version: version, deployment_id } = attempt;
    emit({ event: "recovery.done", version, deployment_id, outcome: "undone" });
  }
}

/** Undoes what killed runs left, before anything is decided. Only under the lock of the target. */
export async function recover(run: Run<Deployed>): Promise<void> {
  const { layout, source, options, emit } = run;
  if ((await readJournal(layout)) !== undefined) {
    await using _root = await lockRoot(run);
    await endInterrupted(layout, options.supervisor, emit);
  }
  await sweepInterrupted(layout, source.target, emit);
}
