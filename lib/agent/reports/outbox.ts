import { isTransient } from "../../client/retry.ts";
import { asSealiftError, deploymentError, isAbort, type SealiftError } from "../../contract/errors.ts";
import { localReport } from "../../contract/surfaces/reports.ts";
import type { TargetName } from "../../contract/target.ts";
import { readJsonFile } from "../../releases/json-file.ts";
import { readAcceptedKit } from "../../releases/kits.ts";
import type { Layout } from "../../releases/layout.ts";
import type { Emit } from "../base/events.ts";
import type { Reporter } from "../base/reporter.ts";
import { markSent, reportPath, unsentNames, wasCutShort } from "./report.ts";

/** Most reports that wait for the hub; older ones are kept as files only. */
const MAX_UNSENT = 100;
/**
 * Time limit for reports to the hub after the run itself was interrupted, in milliseconds; the next run sends the rest.
 */
const LATE_REPORT_LIMIT_MS = 1000;

/**
 * Sends a target's unsent reports to the hub, oldest first, among them those of runs that were killed or offline. A
 * report that cannot be sent now is a warning, and the next run retries it (docs/contract/agent.md, rule 7).
 */
export async function sendReports(
  layout: Layout,
  source: Reporter & { target: TargetName },
  { emit, signal }: { emit: Emit; signal: AbortSignal },
): Promise<void> {
  const { target } = source;
  const warn = (error: SealiftError, next: string): void =>
    emit({ event: "warning", message: `The hub's report could not be sent: ${error.message}${next}` });
  try {
    const names = await unsentNames(layout, target);
    for (const name of names.slice(0, -MAX_UNSENT)) await markSent(layout, target, name);
    const within = signal.aborted ? AbortSignal.timeout(LATE_REPORT_LIMIT_MS) : signal;
    for (const name of names.slice(-MAX_UNSENT)) {
      const report = await readJsonFile(reportPath(layout, target, name), localReport);
      if (report !== undefined) {
        try {
          await source.report(report, within, layout);
        } catch (thrown) {
          const error = within.aborted && !isAbort(thrown) ? outOfTime(thrown) : asSealiftError(thrown);
          if (!isRefusal(error)) return warn(error, " The next run tries again.");
          warn(error, "");
          await markSent(layout, target, name);
          continue;
        }
        emit({ event: "report.sent" });
      } else if (!(await wasCutShort(layout, target, name))) continue;
      await markSent(layout, target, name);
    }
  } catch (error) {
    warn(asSealiftError(error), "");
  }
}

const outOfTime = (cause: unknown): SealiftError => deploymentError("timed_out", "The run's time was over.", { cause });
/** Warns of unsent reports where no hub is known. */
export async function tellUnsent(layout: Layout, target: TargetName, emit: Emit): Promise<void> {
  if ((await unsentNames(layout, target)).length === 0) return;
  const message =
    (await readAcceptedKit(layout, target)) === undefined
      ? "The hub is not told: no hub with a key is known here. The next deployment tells it, or the same command with --hub-url and --api-key-file."
      : "The report waits here for a stick: the next kit takes it along, or `sealift kit collect FOLDER`.";
  emit({ event: "warning", message });
}

/** True when the hub will never accept this report. */
const isRefusal = (error: SealiftError): boolean =>
  !isTransient(error) && error.status !== undefined && error.kind !== "AuthenticationError";
