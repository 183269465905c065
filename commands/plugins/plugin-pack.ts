import { Command, Option } from "clipanion";
import { packing } from "../../lib/options/runtime.ts";
import { withOptions } from "../shell/base.ts";

export class PluginPack extends withOptions(packing) {
  static override paths = [["plugin", "pack"]];
  static override usage = Command.Usage({
    category: "Plugins",
    description: "Pack a plugin into a ZIP for the marketplace",
    details: `
      Checks the descriptor and the entry point, and packs the folder without \`data/\`, secrets and what is built or
      installed. The same files
      make the same bytes. Dependencies are bundled into the entry point, or brought along with \`--include
      node_modules\`.
    `,
    examples: [
      ["NAME-VERSION.zip in this folder", "$0 plugin pack ./greeter"],
      ["With its dependencies", "$0 plugin pack ./greeter --include node_modules"],
    ],
  });

  folder = Option.String({ required: false, name: "FOLDER" });

  override async run(): Promise<number> {
    const { output, include } = this.options;
    const { packPlugin } = await import("../../lib/runtime/authoring/pack.ts");
    const packed = await packPlugin({ folder: this.folder ?? ".", include, ...(output !== undefined && { output }) });
    for (const path of packed.leftOut) this.note(`left out: ${path}`);
    if (!this.json) this.print.line(`${packed.file} (${packed.files} files, ${packed.sizeBytes} bytes)`);
    return this.done({ packed });
  }
}
