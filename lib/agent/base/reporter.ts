import type { LocalReport } from "../../contract/surfaces/reports.ts";

/** Reports deployments to the hub. */
export interface Reporter {
  /** Sends a report to the hub: of this run, or of an earlier one of the same target. */
  report: (report: LocalReport, signal: AbortSignal) => Promise<void>;
}
