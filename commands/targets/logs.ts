import { Command, Option } from "clipanion";
import { logs } from "../../lib/options/inspection.ts";
import { lastDeployment } from "../deploying/last-deployment.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { projectRootAt, targetsAt } from "./targets.ts";

/** Most characters of a line that are shown. */
export const MAX_LINE = 1024 * 1024;

export class Logs extends withOptions(logs) {
  static override paths = [["logs"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Show what plugins and applications of a target write",
    details: `
      Asks systemd's journal or docker for the units of the running release, or for those of the plugins
      that are named. Applications (\`apps/web\`) are read where \`applications.yaml\` says that they run. The lines of
      several containers begin with their names.
    `,
    examples: [
      ["Follow a plugin", "$0 logs plugin:tide-table --follow --supervisor systemd"],
      ["Of one plugin of a project", "$0 logs project:prj_… harbour-clock --lines 200 --supervisor docker"],
    ],
  });

  target = Option.String({ name: "TARGET", required: true });
  units = Option.Rest({ name: "UNIT" });
  /** Short form, as in `journalctl -f` and `docker logs -f`. */
  short = Option.Boolean("-f", false, { hidden: true });

  protected override keptLayers() {
    return lastDeployment(this.target, this.layers);
  }

  override async run(): Promise<number> {
    const { projectRoot, supervisor, supervisorName, systemdScope } = this.options;
    const layout = projectRootAt(projectRoot);
    const [target] = await targetsAt(layout, [this.target]);
    const { readLogs, targetLogs } = await import("../../lib/agent/supervisors/logs.ts");
    const sources = await targetLogs(layout, target!, this.units, {
      ...{ supervisor, systemdScope, template: supervisorName },
      ...{ lines: this.options.lines, follow: this.options.follow || this.short },
    });
    using interrupt = interruptible();
    await readLogs(sources, {
      maxCharacters: MAX_LINE,
      signal: interrupt.signal,
      onLine: ({ unit, line }) => {
        if (this.json) this.print.event({ event: "line", unit, line });
        else this.print.line(unit === null ? line : `${unit} | ${line}`);
      },
    });
    return this.done({ target: this.target });
  }
}
