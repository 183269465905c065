import { Command, Option } from "clipanion";
import { EXIT } from "../../lib/contract/codes.ts";
import { rights } from "../../lib/options/runtime.ts";
import { withOptions } from "../shell/base.ts";

export class PluginRights extends withOptions(rights) {
  static override paths = [["plugin", "rights"]];
  static override usage = Command.Usage({
    category: "Plugins",
    description: "Show what a plugin asks to be allowed",
    details: `
      Reads plugin.yaml and runs nothing. With \`--against\` it shows only what the plugin asks for beyond another
      release of it, and ends with 1 when there is something. Of an installed plugin it names the key that signed it,
      where one was demanded.
    `,
    examples: [
      ["The plugin in this folder", "$0 plugin rights"],
      [
        "What a new release asks for beyond the one that runs",
        "$0 plugin rights ./greeter-2.0 --against plugins/greeter",
      ],
    ],
  });

  folder = Option.String({ required: false, name: "FOLDER" });

  override async run(): Promise<number> {
    const { against } = this.options;
    const [{ descriptorOf }, { moreRights, rightsOf }, { signerOfInstalled }] = await Promise.all([
      import("../../lib/runtime/authoring/plugin-folder.ts"),
      import("../../lib/contract/rights.ts"),
      import("../../lib/releases/release.ts"),
    ]);
    const folder = this.folder ?? ".";
    const descriptor = await descriptorOf(folder);
    const { name, version } = descriptor;
    const signer = await signerOfInstalled(folder);
    const before =
      against === undefined
        ? undefined
        : { ...(await descriptorOf(against)), signer: await signerOfInstalled(against) };
    const asked = before === undefined ? rightsOf(descriptor) : moreRights(before, descriptor);
    const exit_code = before !== undefined && asked.length > 0 ? EXIT.failed : EXIT.done;
    if (this.json) {
      const status = exit_code === EXIT.done ? "success" : "failed";
      this.print.event({
        ...{ event: "result", status, exit_code, plugin: name, version, signer },
        ...(before !== undefined && { against_signer: before.signer }),
        rights: asked,
      });
    } else {
      const versions = [...(before === undefined ? [] : [before]), { version, signer }].map(signedVersion);
      this.print.line(`${name} ${versions.join(" → ")}`);
      for (const line of asked) this.print.line(`  ${line}`);
      if (asked.length === 0) this.print.line("  nothing more");
    }
    return exit_code;
  }
}

const signedVersion = ({ version, signer }: { version: string; signer: string | null | undefined }): string =>
  typeof signer === "string" ? `${version} (signed by ${signer.slice(0, 16)})` : version;
