import type { LocalReport } from "../../contract/surfaces/reports.ts";
import type { Layout } from "../../releases/layout.ts";

/** Reports deployments to the hub. */
export interface Reporter {
  /**
   * Sends a report to the hub: of this run, or of an earlier one of the same target. One that travels by a kit is kept
   * in the project root until somebody carries it.
   */
  report: (report: LocalReport, signal: AbortSignal, layout: Layout) => Promise<void>;
}
