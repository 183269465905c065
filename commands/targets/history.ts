import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { blamelessCause, WAIT_WORDS } from "../../lib/contract/surfaces/host-record.ts";
import type { LocalReport } from "../../lib/contract/surfaces/reports.ts";
import { targetText } from "../../lib/contract/target.ts";
import { host } from "../../lib/options/agent.ts";
import { history } from "../../lib/options/inspection.ts";
import { withOptions } from "../shell/base.ts";
import { showList, timeText } from "../shell/output/listing.ts";
import { projectRootAt, targetsAt } from "./targets.ts";

const tookMs = ({ started_at: start, completed_at: end }: LocalReport): number => Date.parse(end) - Date.parse(start);

/** Returns the version that was resolved, or the requested one without any. */
const versionOf = (report: LocalReport): string => report.resolved_version ?? report.requested_version;

/** Returns how a deployment ended, or how healthy its release became since. */
function statusOf(report: LocalReport): string {
  const { about, health, status } = report;
  if (about === "health" && health !== undefined) return health.state;
  const cause = blamelessCause(report);
  return cause === undefined ? status : WAIT_WORDS[cause];
}

/** Most reports that `report show` searches in each target. */
const MOST_REPORTS = 10_000;

export class History extends withOptions(history) {
  static override paths = [["history"]];
  static override listed = async () => [
    "version",
    ...Object.keys((await import("../../lib/contract/surfaces/reports.ts")).localReport.shape),
  ];
  static override usage = Command.Usage({
    category: "Operating",
    description: "List the deployments of this host, the newest first",
    details:
      "Names what became unhealthy, and healthy again, too. Reads the local reports, which `sealift report show ID` shows whole. Archived ones are not among them.",
    examples: [["The last three of a target", "$0 history plugin:tide-table --limit 3"]],
  });

  targets = Option.Rest({ name: "TARGET" });

  override async run(): Promise<number> {
    const { projectRoot, limit } = this.options;
    const layout = projectRootAt(projectRoot);
    const { readReports } = await import("../../lib/agent/reports/report.ts");
    const targets = await targetsAt(layout, this.targets);
    const all = await Promise.all(targets.map((target) => readReports(layout, target, limit)));
    const reports = all
      .flat()
      .toSorted((a, b) => Date.parse(b.completed_at) - Date.parse(a.completed_at))
      .slice(0, limit);
    return showList(this.surroundings(), {
      event: "deployment",
      rows: reports.map((report) => ({ version: versionOf(report), ...report })),
      columns: {
        TIME: ({ completed_at: at }) => timeText(at),
        TARGET: targetText,
        VERSION: ({ version }) => version,
        STATUS: statusOf,
        TOOK: (report) => (report.about === "health" ? "" : `${tookMs(report)} ms`),
        ID: ({ deployment_id: id }) => id.slice(0, 8),
        WHY: ({ error_message: why }) => why ?? "",
      },
      none: "Nothing was deployed yet.",
      result: (deployments) => ({ deployments }),
    });
  }
}

export class ReportShow extends withOptions(host) {
  static override paths = [["report", "show"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Show the report of one deployment, with its steps",
    examples: [["As `sealift history` names it", "$0 report show 1f0c9a2e --project-root /srv/app"]],
  });

  id = Option.String({ name: "ID", required: true });

  override async run(): Promise<number> {
    const layout = projectRootAt(this.options.projectRoot);
    const [{ readReports }, { sizeText }] = await Promise.all([
      import("../../lib/agent/reports/report.ts"),
      import("../../lib/support/size-text.ts"),
    ]);
    const found: LocalReport[] = [];
    for (const target of await targetsAt(layout, []))
      found.push(
        ...(await readReports(layout, target, MOST_REPORTS)).filter((r) => r.deployment_id.startsWith(this.id)),
      );
    const [report, ...others] = found;
    if (report === undefined || others.length > 0) {
      const what = report === undefined ? "No report" : `${found.length} reports`;
      const begins = report === undefined ? "begins" : "begin";
      throw usageError("usage", `${what} of ${layout.root} ${begins} with ${JSON.stringify(this.id)}.`, {
        hint: "`sealift history` lists them with their ids.",
      });
    }
    if (this.json) return this.done({ report });
    for (const line of reportLines(report, sizeText)) this.print.line(line);
    return this.done({});
  }
}

function reportLines(report: LocalReport, sizeText: (bytes: number) => string): string[] {
  const { status, code, error_message: why, steps, warnings, bytes, host_id: host } = report;
  const lines: [string, string][] = [
    ["target", targetText(report)],
    ["version", `${report.resolved_version ?? "unknown"} (asked for ${report.requested_version})`],
    ["status", code === null ? status : `${status} (${code})`],
    ...(why === null ? [] : [["why", why] as [string, string]]),
    ...(report.causes ?? []).map((cause): [string, string] => ["because", cause]),
    ["started", report.started_at],
    ["took", `${tookMs(report)} ms`],
    ["fetched", sizeText(bytes)],
    ["host", host],
    ["id", report.deployment_id],
    ...warnings.map((text): [string, string] => ["warning", text]),
    ...steps.map(({ id, action, status: ended, duration_ms: ms, error_message: fault }): [string, string] => [
      "step",
      `${id} (${action}): ${ended} in ${ms} ms${fault === null ? "" : `: ${fault}`}`,
    ]),
    ...(report.log ?? []).map((text): [string, string] => ["log", text]),
  ];
  return lines.map(([name, text]) => `${name.padEnd(9)} ${text}`);
}
