import { resolve } from "node:path";
import { Command, Option } from "clipanion";
import { scaffold } from "../../lib/options/runtime.ts";
import { withOptions } from "../shell/base.ts";

export class PluginInit extends withOptions(scaffold) {
  static override paths = [["plugin", "init"]];
  static override usage = Command.Usage({
    category: "Plugins",
    description: "Write a new plugin that works as it is",
    details: `
      Makes a folder with a descriptor, an entry point, and \`plugin.test.yaml\` with calls for \`sealift plugin test\`.
      Nothing has to be installed: the runtime brings \`sealift/sdk\` and zod.
    `,
    examples: [
      ["A sandboxed plugin in TypeScript", "$0 plugin init greeter"],
      ["A trusted one with routes, in JavaScript", "$0 plugin init greeter --language javascript --mode trusted"],
    ],
  });

  name = Option.String({ required: true, name: "NAME" });

  override async run(): Promise<number> {
    const { language, mode, directory = this.name } = this.options;
    const folder = resolve(directory);
    const { scaffoldPlugin } = await import("../../lib/runtime/authoring/scaffold.ts");
    const files = await scaffoldPlugin({ name: this.name, folder, language, mode });
    if (!this.json) for (const file of files) this.print.line(`${folder}/${file}`);
    this.note(`Try it: sealift plugin test ${folder}`);
    return this.done({ folder, files });
  }
}
