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
      Reads plugin.yaml and nothing else. With \`--against\` it shows only what the plugin asks for beyond another
      release of it, and ends with 1 when there is something.
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
    const [{ readRights }, { moreRights, rightsOf }] = await Promise.all([
      import("../../lib/runtime/authoring/plugin-audit.ts"),
      import("../../lib/contract/rights.ts"),
    ]);
    const descriptor = await readRights(this.folder ?? ".");
    const { name, version } = descriptor;
    const before = against === undefined ? undefined : await readRights(against);
    const asked = before === undefined ? rightsOf(descriptor) : moreRights(before, descriptor);
    const exit_code = before !== undefined && asked.length > 0 ? EXIT.failed : EXIT.done;
    if (this.json) {
      const status = exit_code === EXIT.done ? "success" : "failed";
      this.print.event({ event: "result", status, exit_code, plugin: name, version, rights: asked });
    } else {
      this.print.line(before === undefined ? `${name} ${version}` : `${name} ${before.version} → ${version}`);
      for (const line of asked) this.print.line(`  ${line}`);
      if (asked.length === 0) this.print.line("  nothing more");
    }
    return exit_code;
  }
}
