import { resolve } from "node:path";
import { Command, Option } from "clipanion";
import type { Settings } from "../../lib/support/settings.ts";
import { SealiftCommand } from "../shell/base.ts";

export class PluginInit extends SealiftCommand {
  static override paths = [["plugin", "init"]];
  static override usage = Command.Usage({
    category: "Plugins",
    description: "Write a new plugin that works as it is",
    details: `
      Makes a folder with a descriptor, an entry point, and \`plugin.test.yaml\` with calls for \`sealift plugin test\`. Nothing has to be
      installed: the runtime brings \`sealift/sdk\` and zod.
    `,
    examples: [
      ["A sandboxed plugin in TypeScript", "$0 plugin init greeter"],
      ["A trusted one with routes, in JavaScript", "$0 plugin init greeter --language javascript --mode trusted"],
    ],
  });

  name = Option.String({ required: true, name: "NAME" });
  language = Option.String("--language", { description: "typescript or javascript (typescript)" });
  mode = Option.String("--mode", { description: "sandboxed or trusted (sandboxed)" });
  directory = Option.String("--directory", { description: "Folder to write to (./NAME)" });

  override async run(settings: Settings): Promise<number> {
    const language = settings.choice("language", ["typescript", "javascript"] as const, "typescript");
    const mode = settings.choice("mode", ["sandboxed", "trusted"] as const, "sandboxed");
    const folder = resolve(this.directory ?? this.name);
    const { scaffoldPlugin } = await import("../../lib/runtime/authoring/scaffold.ts");
    const files = await scaffoldPlugin({ name: this.name, folder, language, mode });
    if (!this.json) for (const file of files) this.output.line(`${folder}/${file}`);
    this.note(`Try it: sealift plugin test ${folder}`);
    return this.done({ folder, files });
  }
}
