import { Command } from "clipanion";
import { subjectOf } from "../../lib/hub/records/subjects.ts";
import { hubRetain } from "../../lib/options/hub.ts";
import { counted } from "../../lib/support/counted.ts";
import { withOptions } from "../shell/base.ts";
import { hubPlaceOf } from "./storage.ts";

export class HubRetain extends withOptions(hubRetain) {
  static override paths = [["hub", "retain"]];
  static override listed = () => ["target", "version", "bytes"];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Remove versions that nobody needs, and old reports",
    details: `
      Works on the hub's storage, beside the running hub. Of each project, plugin and service it keeps the newest
      versions, the latest one, what a host runs by its reports, and the last two versions that each host deployed,
      for a rollback. The labels of removed versions are never used again; their bytes stay in the trash for 7 days.
      Reports beyond their number and age, which the hub itself removes every hour, go too; never the newest of a
      host. Run it from a timer; \`--dry-run\` tells what would go.
    `,
    examples: [
      ["Look first", "$0 hub retain --keep 10 --dry-run"],
      ["One project", "$0 hub retain --keep 10 --project Harbour"],
    ],
  });

  override async run(): Promise<number> {
    const { keep, minAgeMs, project, dryRun } = this.options;
    const { retainVersions } = await import("../../lib/hub/upkeep/retention.ts");
    const result = await retainVersions(await hubPlaceOf(this.options), {
      keep,
      minAgeMs,
      dryRun,
      project,
      // Reports are those of all projects.
      ...(project === undefined && { reportLimits: this.options }),
      onRemoved: (removed, { version, bytes }) => {
        const target = subjectOf(removed);
        if (this.json) this.print.event({ event: dryRun ? "due" : "removed", target, version, bytes });
        else this.print.line(`${target.padEnd(40)} ${version.padEnd(20)} ${counted(bytes, "byte")}`);
      },
    });
    if (this.json) return this.done({ ...result, dry_run: dryRun });
    const { projects, versions, bytes, reports, report_bytes: reportBytes } = result;
    const what = `${counted(versions, "version")} of ${counted(projects, "project")}, ${counted(bytes, "byte")}; ${counted(reports, "report")}, ${counted(reportBytes, "byte")}`;
    this.note(`${dryRun ? "would remove" : "removed"} ${what}`);
    return 0;
  }
}
