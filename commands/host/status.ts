import { Command, Option } from "clipanion";
import type { TargetStatus } from "../../lib/agent/inspection.ts";
import { host } from "../../lib/options/agent.ts";
import { withOptions } from "../shell/base.ts";
import { projectRootAt, targetsAt } from "./targets.ts";

export class Status extends withOptions(host) {
  static override paths = [["status"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Show what runs on this host, and what is kept, held back or pinned",
    details: `
      Reads the project root and asks nobody: the running version and since when, kept releases, versions in quarantine with their reasons,
      pins and pauses, the last deployment, and the disk that all of it takes.
    `,
    examples: [
      ["Everything in a project root", "$0 status --project-root /srv/app"],
      ["One target", "$0 status plugin:tide-table --project-root /srv/app"],
    ],
  });

  targets = Option.Rest({ name: "TARGET" });

  override async run(): Promise<number> {
    const layout = projectRootAt(this.options.projectRoot);
    const [{ inspectTarget }, { sizeText }, { timeText }, { targetText }] = await Promise.all([
      import("../../lib/agent/inspection.ts"),
      import("../../lib/agent/deployment/sentences.ts"),
      import("../shell/output/table.ts"),
      import("../../lib/releases/targets.ts"),
    ]);
    const targets = await targetsAt(layout, this.targets);
    for (const name of targets) {
      const status = await inspectTarget(layout, name);
      const target = targetText(name);
      if (this.json) this.print.event({ event: "target", ...factsOf(status), target });
      else for (const line of linesOf(status, target, { sizeText, timeText })) this.print.line(line);
    }
    if (targets.length === 0) this.note(`Nothing was deployed in ${layout.root} yet.`);
    return this.done({ project_root: layout.root, targets: targets.length });
  }
}

function factsOf({ releases, quarantine, paused, pin, latest, lastReport, unsentReports }: TargetStatus) {
  const running = releases.find((release) => release.running);
  return {
    running_version: running?.version ?? null,
    running_since: running?.created_at ?? null,
    latest_version: latest,
    releases: releases.map(({ name, version, created_at, bytes, running }) => ({
      ...{ name, version, created_at, bytes, running },
    })),
    ...{ quarantine, paused, pin, unsent_reports: unsentReports },
    last_report: lastReport ?? null,
  };
}

interface Words {
  sizeText: (bytes: number) => string;
  timeText: (time: string) => string;
}

function linesOf(status: TargetStatus, target: string, { sizeText, timeText }: Words): string[] {
  const { releases, quarantine, paused, pin, latest, lastReport, unsentReports } = status;
  const running = releases.find((release) => release.running);
  const others = releases.filter((release) => !release.running);
  const bytes = releases.reduce((sum, release) => sum + release.bytes, 0);
  const lines = [
    `${target}  ${running === undefined ? "nothing runs" : `${running.version} runs since ${timeText(running.created_at)}`}`,
  ];
  const say = (what: string, text: string): void => void lines.push(`  ${what.padEnd(11)} ${text}`);
  if (latest !== null && latest !== running?.version) say("latest", latest);
  if (others.length > 0) say("kept", others.map(({ version }) => version).join(", "));
  if (releases.length > 0) say("disk", `${sizeText(bytes)} in ${releases.length} releases`);
  if (pin !== null) say("pinned", `to ${pin.version} since ${timeText(pin.at)}${pin.reason ? `: ${pin.reason}` : ""}`);
  if (paused) say("paused", "a watch deploys nothing here until `sealift watch resume`");
  for (const { version, at, reason } of quarantine) say("held back", `${version} since ${timeText(at)}: ${reason}`);
  if (lastReport !== undefined) {
    const { status: ended, resolved_version: version, completed_at: at, error_message: why } = lastReport;
    say("last try", `${ended} ${version ?? lastReport.requested_version} at ${timeText(at)}${why ? `: ${why}` : ""}`);
  }
  if (unsentReports > 0) say("unsent", `${unsentReports} reports wait for the hub`);
  return lines;
}
