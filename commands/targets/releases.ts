import { Command, Option } from "clipanion";
import { host } from "../../lib/options/agent.ts";
import { withOptions } from "../shell/base.ts";
import { showList, timeText } from "../shell/output/listing.ts";
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
    const [{ keptReleases }, { sizeText }] = await Promise.all([
      import("../../lib/agent/target-status.ts"),
      import("../../lib/support/size-text.ts"),
    ]);
    const releases = await keptReleases(layout, target!);
    return showList(this.surroundings(), {
      event: "release",
      rows: releases.map(({ name, version, created_at, bytes, running, items }) => ({
        ...{ name, version, created_at, bytes, running, items },
      })),
      columns: {
        RELEASE: ({ name }) => name,
        VERSION: ({ version }) => version,
        MADE: ({ created_at: at }) => timeText(at),
        SIZE: ({ bytes }) => sizeText(bytes),
        STATE: ({ running }) => (running ? "running" : "kept"),
      },
      none: "No release is kept.",
      result: (count) => ({ target: this.target, releases: count }),
    });
  }
}
