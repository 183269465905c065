import { resolve } from "node:path";
import { Command, Option } from "clipanion";
import { kitCollect } from "../../lib/options/kits.ts";
import { interruptible, withOptions } from "../shell/base.ts";

export class KitCollect extends withOptions(kitCollect) {
  static override paths = [["kit", "collect"]];
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Copy this host's reports to a stick",
    details: `
      Signs the reports that have not travelled yet, such as that of a rollback, and copies all that wait to the folder
      \`reports\` of the stick. They stay here as well, the last hundred of each target: a stick may get lost.
    `,
    examples: [["To a stick", "$0 kit collect /media/stick --host-key-file host.key --project-root /srv/sealift"]],
  });

  folder = Option.String({ name: "FOLDER", required: true });

  override async run(): Promise<number> {
    const { hostKey, projectRoot, labels } = this.options;
    const [{ collectReports }, { hostKeyIn }, { layoutOf }, { ownFolder }] = await Promise.all([
      import("../../lib/agent/kit-reports.ts"),
      import("../../lib/agent/joining/host-key-file.ts"),
      import("../../lib/releases/layout.ts"),
      import("../joining/watched-host.ts"),
    ]);
    await ownFolder(resolve(projectRoot));
    using interrupt = interruptible();
    const { signal } = interrupt;
    const { written, known } = await collectReports(layoutOf(resolve(projectRoot)), resolve(this.folder), {
      ...{ key: hostKeyIn(hostKey, "--host-key-file"), labels: Object.fromEntries(labels), signal },
      warn: (message) => this.note(`warning: ${message}`),
    });
    if (!this.json) this.print.line(`${written} copied, ${known} there already`);
    return this.done({ written, known });
  }
}
