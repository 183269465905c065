import { rememberDeployed } from "../../releases/deployed.ts";
import { forgetRights } from "../../releases/held-rights.ts";
import type { Journal } from "../../releases/journal.ts";
import { releaseFromQuarantine } from "../../releases/quarantine.ts";
import { collectReleases } from "../../releases/release.ts";
import { finishSwitch } from "../../releases/switch.ts";
import { reportOf } from "../reports/draft.ts";
import { recordReport } from "../reports/report.ts";
import type { Deployed, Run } from "./run.ts";

/**
 * Ends a switch for good. The journal goes when the report is written, so that a kill in between loses neither.
 *
 * @returns the report's path, or null when it could not be written
 */
export async function settle(run: Run<Deployed>, journal: Journal): Promise<string | null> {
  const { layout, options, emit } = run;
  const { release, target, resolved_version: version } = journal.entry;
  const report = reportOf(run, { status: "success", running: version });
  try {
    await rememberDeployed(layout, target, { version: version!, release, settings: options.settings });
  } catch (error) {
    emit({ event: "warning", message: `The settings of this deployment are not kept: ${(error as Error).message}.` });
  }
  await journal.note({ phase: "committed", report });
  emit({ event: "commit.done", release });
  await finishSwitch(journal);
  const path = await recordReport(run, report, true);
  await journal.clear();
  try {
    await releaseFromQuarantine(layout, target, version!);
    await forgetRights(layout, target);
    const removed = await collectReleases(layout, target, options.keepReleases);
    if (removed.length > 0) emit({ event: "collect.done", removed });
  } catch (error) {
    emit({ event: "warning", message: `Old releases could not be removed: ${(error as Error).message}.` });
  }
  return path;
}
