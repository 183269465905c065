import { readFile } from "node:fs/promises";
import type { LocalReport } from "../../contract/surfaces/reports.ts";
import type { TargetName } from "../../contract/target.ts";
import { readJournal } from "../../releases/journal.ts";
import type { Layout } from "../../releases/layout.ts";
import { noteDeath, quarantine } from "../../releases/quarantine.ts";
import { recoverJournal, sweepRoot, sweepTarget } from "../../releases/recovery.ts";
import { whatRuns } from "../../releases/release.ts";
import type { Emit } from "../base/events.ts";
import { interruptedReport } from "../reports/draft.ts";
import { hasReport, writeReport } from "../reports/report.ts";
import type { SupervisorChoice } from "../supervisors/supervisor.ts";
import { type Deployed, lockRoot, type Run } from "./run.ts";
import { bringBack } from "./undo.ts";

/**
 * Ends what a killed run left in the journal, and reports it: a committed release stays, anything else is undone and
 * its units are restarted. Requires the lock of the root.
 *
 * @throws DeploymentError `journal_unreadable`
 */
export async function endInterrupted(layout: Layout, supervisor: SupervisorChoice, emit: Emit): Promise<void> {
  await recoverJournal(layout, async (entry) => {
    const { target, deployment_id, resolved_version: version, phase, report } = entry;
    // Settings are no deployment: the host tries them again, and its outcome tells of them.
    if (entry.is_settings) {
      // A unit that was not restarted yet may have been started since, as by a boot.
      const touched = [...new Set([...entry.touched, ...entry.replaced_env, ...entry.env_files])];
      await bringBack(layout, { ...entry, touched }, { supervisor, emit, wasVisible: false });
      return;
    }
    if (phase === "committed") {
      if (report !== null) await writeOnce(layout, target, report);
      emit({ event: "recovery.done", version, deployment_id, outcome: "finished" });
      return;
    }
    // A machine that restarted meanwhile has started what was linked then.
    const rebooted = typeof entry.boot_id === "string" && entry.boot_id !== (await bootId());
    await bringBack(layout, entry, { supervisor, emit, wasVisible: phase === "switching", rebooted });
    const replaced = phase === "switching" && entry.previous !== null;
    const running = await whatRuns(layout, target);
    await writeOnce(layout, target, interruptedReport(entry, replaced ? "rolled_back" : "failed", running));
    emit({ event: "recovery.done", version, deployment_id, outcome: "undone" });
  });
}

/** Writes the report of a killed run, unless that run, or a recovery that was killed itself, has done so. */
async function writeOnce(layout: Layout, target: TargetName, report: LocalReport): Promise<void> {
  if (!(await hasReport(layout, target, report.deployment_id))) await writeReport(layout, target, report);
}

/** Returns the id of this boot, where the system has one. */
export const bootId = (): Promise<string | null> =>
  readFile("/proc/sys/kernel/random/boot_id", "utf8").then(
    (text) => text.trim(),
    () => null,
  );

/**
 * Removes what killed runs of a target left in staging, and reports them. A version that was being fetched and unpacked
 * whenever the process died, on a machine that did not restart, may kill it: it is quarantined, so that a watch does
 * not die of it for ever. Requires the lock of the target.
 */
export async function sweepInterrupted(layout: Layout, target: TargetName, emit: Emit): Promise<void> {
  for (const attempt of await sweepTarget(layout, target)) {
    const running = await whatRuns(layout, target);
    const { resolved_version: version, deployment_id, identity = null, boot_id } = attempt;
    const died = version !== null && typeof boot_id === "string" && boot_id === (await bootId());
    const report = interruptedReport(attempt, "failed", running);
    if (died && (await noteDeath(layout, target, { version, identity }))) {
      const reason = "The process ended again and again while it fetched and unpacked this version.";
      await writeOnce(layout, target, { ...report, code: "quarantined", error_message: reason });
      await quarantine(layout, target, { version, identity, code: "interrupted", reason, at: report.completed_at });
    } else await writeOnce(layout, target, report);
    emit({ event: "recovery.done", version, deployment_id, outcome: "undone" });
  }
}

/** Undoes what killed runs left, before any decision. Requires the lock of the target. */
export async function recover(run: Run<Deployed>): Promise<void> {
  const { layout, source, options, emit } = run;
  if ((await readJournal(layout)) !== undefined) {
    await using _root = await lockRoot(run);
    await endInterrupted(layout, options.supervisor, emit);
  } else await sweepRoot(layout);
  await sweepInterrupted(layout, source.target, emit);
}
