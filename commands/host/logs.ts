import { Command, Option } from "clipanion";
import { logs } from "../../lib/options/inspection.ts";
import { lastDeployment } from "../deploying/last-deployment.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { projectRootAt, targetsAt } from "./targets.ts";

/** Most characters of a line that are shown. */
const MAX_LINE = 1024 * 1024;

export class Logs extends withOptions(logs) {
  static override paths = [["logs"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Show what a target's plugins write, as their supervisor keeps it",
    details: `
      Asks systemd's journal, docker or kubernetes for the units of the running release, or for those of the plugins
      that are named. The lines of several containers begin with their names.
    `,
    examples: [
      ["Follow a plugin", "$0 logs plugin:tide-table --follow --supervisor systemd"],
      ["Of one plugin of a project", "$0 logs project:prj_… harbour-clock --lines 200 --supervisor docker"],
    ],
  });

  target = Option.String({ name: "TARGET", required: true });
  plugins = Option.Rest({ name: "PLUGIN" });
  /** Short form, as in `journalctl -f` and `docker logs -f`. */
  short = Option.Boolean("-f", false, { hidden: true });

  protected override keptLayers() {
    return lastDeployment(this.target, this.layers);
  }

  override async run(): Promise<number> {
    const { projectRoot, supervisor, supervisorName, systemdScope, k8sNamespace, k8sContext } = this.options;
    const layout = projectRootAt(projectRoot);
    const [target] = await targetsAt(layout, [this.target]);
    const { readLogs, targetLogCommands } = await import("../../lib/agent/supervisors/logs.ts");
    const commands = await targetLogCommands(layout, target!, this.plugins, {
      ...{ supervisor, systemdScope, template: supervisorName, namespace: k8sNamespace, context: k8sContext },
      ...{ lines: this.options.lines, follow: this.options.follow || this.short },
    });
    using interrupt = interruptible();
    await readLogs(commands, {
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
