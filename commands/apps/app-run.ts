import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { appRun } from "../../lib/options/apps.ts";
import { withOptions } from "../shell/base.ts";

export class AppRun extends withOptions(appRun) {
  static override paths = [["app", "run"]];
  static override usage = Command.Usage({
    category: "Applications",
    description: "Run a command in the place of an application",
    details: `
      Runs the words after two dashes as the application runs: as its user, in its folder, with its settings, data and
      limits. They get this terminal, where there is one, or these pipes. The command ends with their exit code: 128 and
      its number for a signal. Signals are passed on, and whatever the command has started ends with it. The log of the
      application says that somebody ran something, and not what.

      It takes root where systemd or an \`app serve\` of root runs the application, and otherwise the user of
      \`app serve\`.
    `,
    examples: [
      ["A console", "$0 app run web -- node scripts/console.js"],
      ["A shell", "$0 app run web -- sh"],
    ],
  });

  id = Option.String({ name: "ID" });
  words = Option.Rest({ name: "COMMAND" });

  override async run(): Promise<number> {
    const [{ readGrants }, { applicationId }, { projectRootAt }] = await Promise.all([
      import("../../lib/releases/applications.ts"),
      import("./application-id.ts"),
      import("../targets/targets.ts"),
    ]);
    const { projectRoot, systemdScope, allowForeignRoot } = this.options;
    const id = applicationId(this.id);
    const [program] = this.words;
    if (program === undefined || program.startsWith("-"))
      throw usageError("usage", "No command is given.", { hint: `Give it after two dashes: app run ${id} -- sh.` });
    const layout = projectRootAt(projectRoot);
    const grants = await readGrants(layout);
    if (grants?.supervisor === "systemd") {
      if (systemdScope === "system" && process.getuid?.() !== 0)
        throw usageError("usage", `Only root can be the user of ${id}.`, { hint: "Run it by sudo." });
      const { runInUnit } = await import("../../lib/agent/applications/run-unit.ts");
      const terminal = process.stdin.isTTY && process.stdout.isTTY;
      return runInUnit(layout, { id, words: this.words, scope: systemdScope, terminal });
    }
    const { runServed } = await import("./run-served.ts");
    return runServed(layout, { id, words: this.words, allowForeignRoot, note: (text) => this.note(text) });
  }
}
