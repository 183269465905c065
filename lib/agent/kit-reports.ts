import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { HostKey } from "../artifact/sealed/host-key.ts";
import { deploymentError, SealiftError, usageError } from "../contract/errors.ts";
import type { Labels } from "../contract/labels.ts";
import type { LocalReport } from "../contract/surfaces/reports.ts";
import { isTargetName, type Target, targetOfName } from "../contract/target.ts";
import { keptKitReports, readAcceptedKit } from "../releases/kits.ts";
import type { Layout } from "../releases/layout.ts";
import { namesIn, writeFault } from "../support/files.ts";
import type { Emit } from "./base/events.ts";
import { sendReports } from "./reports/outbox.ts";
import { carryReport, kitReporter } from "./sources/kits/reporter.ts";
import { marketplaceReportOf } from "./sources/marketplace-report.ts";
import { projectReportOf } from "./sources/project.ts";

/** Returns a report as a host with network sends it. */
const wireReportOf = (report: LocalReport, { kind, slug }: Target, labels: Labels): object =>
  kind === "project"
    ? projectReportOf(report, { projectId: slug, labels })
    : marketplaceReportOf(report, { kind, slug, labels });

/** Circumstances of a collection. */
interface Collecting {
  key: HostKey;
  labels: Labels;
  signal: AbortSignal;
  warn: (message: string) => void;
}

/**
 * Signs the unsent reports of all targets that take kits, and copies those that wait to a stick.
 *
 * @returns how many were written, and how many were there already
 * @throws UsageError `usage` without a project root; DeploymentError `kit_unwritable`; ArtifactError `kit_unreadable`
 *   for names that differ by their case only
 */
export async function collectReports(
  layout: Layout,
  folder: string,
  { key, labels, signal, warn }: Collecting,
): Promise<{ written: number; known: number }> {
  const counts = { written: 0, known: 0 };
  const unwritable = (error: unknown) =>
    error instanceof SealiftError
      ? error
      : deploymentError("kit_unwritable", `${folder} takes no report: ${writeFault(error)}.`, { cause: error });
  await readdir(folder).catch((error: unknown) => {
    throw unwritable(error);
  });
  if (
    !(await readdir(layout.root).then(
      () => true,
      () => false,
    ))
  )
    throw usageError("usage", `${layout.root} is no project root of this host: there is no such folder.`);
  let blocked: SealiftError | undefined;
  const names = await Promise.all(["reports", "kits"].map((each) => namesIn(join(layout.sealift, each))));
  for (const name of new Set(names.flat())) {
    if (!isTargetName(name)) continue;
    const target = targetOfName(name);
    const wireReport = (report: LocalReport): object => wireReportOf(report, target, labels);
    const reporter = kitReporter({ key, target, folder: undefined, openedKit: () => undefined, wireReport });
    const emit: Emit = (event) => {
      if (event.event === "warning") warn(event.message);
    };
    // Before the first kit that was accepted there is none to report under, but for those that were opened.
    if ((await readAcceptedKit(layout, name)) !== undefined)
      await sendReports(layout, { ...reporter, target: name }, { emit, signal });
    for await (const report of keptKitReports(layout, name)) {
      const isWritten = await carryReport(folder, report.name, report.text).catch((error: unknown) => {
        if (!(error instanceof SealiftError) || error.code !== "kit_unwritable") throw unwritable(error);
        blocked ??= error;
      });
      if (isWritten !== undefined) counts[isWritten ? "written" : "known"]++;
    }
  }
  // A name that is taken keeps no other report back.
  if (blocked !== undefined) throw blocked;
  return counts;
}
