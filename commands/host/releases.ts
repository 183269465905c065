import { Command, Option } from "clipanion";
import type { KeptRelease } from "../../lib/agent/target-status.ts";
import { host } from "../../lib/options/agent.ts";
import { withOptions } from "../shell/base.ts";
import { projectRootAt, targetsAt } from "./targets.ts";

export class Releases extends withOptions(host) {
  static override paths = [["releases"]];
  static override listed = () => ["name", "version", "created_at", "bytes", "running", "items"];
  static override usage = Command.Usage({
    category: "Operating",
    description: "List the kept releases of a target, with their sizes",
    examples: [["What a rollback may go back to", "$0 releases plugin:tide-table --project-root /srv/app"]],
  });

  target = Option.String({ name: "TARGET", required: true });

  override async run(): Promise<number> {
    const layout = projectRootAt(this.options.projectRoot);
    const [target] = await targetsAt(layout, [this.target]);
    const [{ keptReleases }, { sizeText }, { tableLines, timeText }] = await Promise.all([
      import("../../lib/agent/target-status.ts"),
      import("../../lib/agent/ground/sentences.ts"),
      import("../shell/output/table.ts"),
    ]);
    const releases = await keptReleases(layout, target!);
    if (this.json) {
      for (const { name, version, created_at, bytes, running, items } of releases)
        this.print.event({ event: "release", name, version, created_at, bytes, running, items });
      return this.done({ target: this.target, releases: releases.length });
    }
    const columns = [
      { title: "RELEASE", of: ({ name }: KeptRelease) => name },
      { title: "VERSION", of: ({ version }: KeptRelease) => version },
      { title: "MADE", of: ({ created_at: at }: KeptRelease) => timeText(at) },
      { title: "SIZE", of: ({ bytes }: KeptRelease) => sizeText(bytes) },
      { title: "STATE", of: ({ running }: KeptRelease) => (running ? "running" : "kept") },
    ];
    for (const line of tableLines(columns, releases, this.isForPeople)) this.print.line(line);
    if (releases.length === 0) this.note("No release is kept.");
    return this.done({});
  }
}
