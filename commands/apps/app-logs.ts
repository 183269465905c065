import { Command, Option } from "clipanion";
import { appLogs } from "../../lib/options/apps.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { MAX_LINE } from "../targets/logs.ts";
import { projectRootAt } from "../targets/targets.ts";

export class AppLogs extends withOptions(appLogs) {
  static override paths = [["app", "logs"]];
  static override usage = Command.Usage({
    category: "Applications",
    description: "Show what an application writes",
    details: `
      Reads systemd's journal of its unit, or the files that \`sealift app serve\` keeps of its output, whichever
      \`applications.yaml\` names. There, lines with \`sealift:\` are about the application: its starts, ends and migrations.
    `,
    examples: [["Go on with what it writes", "$0 app logs web --follow"]],
  });

  id = Option.String({ name: "ID" });
  /** Short form, as in \`journalctl -f\` and \`docker logs -f\`. */
  short = Option.Boolean("-f", false, { hidden: true });

  override async run(): Promise<number> {
    const [{ applicationLogs, readLogs }, { knownApplication }] = await Promise.all([
      import("../../lib/agent/supervisors/logs.ts"),
      import("./application-id.ts"),
    ]);
    const { projectRoot, lines, follow, systemdScope } = this.options;
    const layout = projectRootAt(projectRoot);
    const id = await knownApplication(layout, this.id);
    using interrupt = interruptible();
    await readLogs(await applicationLogs(layout, [id], { lines, follow: follow || this.short, systemdScope }), {
      maxCharacters: MAX_LINE,
      signal: interrupt.signal,
      onLine: ({ line }) => {
        if (this.json) this.print.event({ event: "line", unit: `apps/${id}`, line });
        else this.print.line(line);
      },
    });
    return this.done({ id });
  }
}
