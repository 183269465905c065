import { Command, Option } from "clipanion";
import { DIFFERENCE_FIELDS } from "../shell/output/differences.ts";
import { ComparingCommand } from "./comparing.ts";

export class VersionDiff extends ComparingCommand {
  static override paths = [["version", "diff"]];
  static override listed = () => DIFFERENCE_FIELDS;
  static override usage = Command.Usage({
    category: "Hub",
    description: "Compare two versions of a hub",
    details: `
      Names what plugins may do in one version and not in the other, what has changed in how, when and with what limits
      applications run, steps of a project's install plan, and files with
      their sizes. Both versions are fetched and verified as by a deployment, and nothing is kept: a project needs
      \`--deployment-credential\` and \`--signer-public-key\`, a plugin or service its developer's \`--signing-secret\`.
      With \`--signing-key-file\` instead, the signer compares the stored indexes of a project, which are small and tell
      files only. TARGET is \`plugin:SLUG\`, \`service:SLUG\`, \`project:ID\` or a name.
    `,
    examples: [
      [
        "What an upgrade would bring",
        "$0 version diff project:prj_… 1.4.0 1.5.0 --signer-public-key signer.pub --deployment-credential-file credential",
      ],
      ["A plugin, with the latest version", "$0 version diff plugin:tide-table 1.4.0 --signing-secret-file secret"],
    ],
  });

  target = Option.String({ name: "TARGET", required: true });
  from = Option.String({ name: "A", required: true });
  to = Option.String({ name: "B", required: false });

  override run(): Promise<number> {
    return this.compare(this.target, this.from, this.to);
  }
}
