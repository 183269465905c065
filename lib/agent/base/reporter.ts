import type { LocalReport } from "../../contract/surfaces/reports.ts";

/** The way to tell the hub of deployments. */
export interface Reporter {
  /** Sends a report to the hub: of this run, or of an earlier one of the same target. */
  report: (report: LocalReport, signal: AbortSignal) => Promise<void>;
}
