import { Command, Option } from "clipanion";
import type { LeftOut } from "../../lib/artifact/tree/source-tree.ts";
import { packing } from "../../lib/options/runtime.ts";
import type { PackedPlugin } from "../../lib/runtime/authoring/pack.ts";
import { counted } from "../../lib/support/counted.ts";
import { withOptions } from "../shell/base.ts";
import { leftOutLines } from "../shell/output/left-out.ts";

export class PluginPack extends withOptions(packing) {
  static override paths = [["plugin", "pack"]];
  static override usage = Command.Usage({
    category: "Plugins",
    description: "Pack a plugin into a ZIP for the marketplace",
    details: `
      Checks the descriptor and the entry point, and packs the folder without \`data/\`, secrets and what is built or
      installed. The same files make the same bytes. With \`--with-dependencies\` the npm packages that the lock file
      has for production come along as \`npm ci\` has installed them, with a list of their licences. Or bundle them into
      the entry point.
    `,
    examples: [
      ["NAME-VERSION.zip in this folder", "$0 plugin pack ./greeter"],
      ["With its npm packages", "$0 plugin pack ./greeter --with-dependencies"],
    ],
  });

  folder = Option.String({ required: false, name: "FOLDER" });

  override async run(): Promise<number> {
    const { output, include, withDependencies, platform } = this.options;
    const { packPlugin } = await import("../../lib/runtime/authoring/pack.ts");
    const shared = { folder: this.folder ?? ".", include, withDependencies, platform };
    const packed = await packPlugin({ ...shared, ...(output !== undefined && { output }) });
    for (const line of packingNotes(packed)) this.note(line);
    const { leftOut, ...facts } = packed;
    if (!this.json)
      this.print.line(`${packed.file} (${counted(packed.files, "file")}, ${counted(packed.sizeBytes, "byte")})`);
    for (const { path, pattern } of this.json ? leftOut : []) this.print.event({ event: "left_out", path, pattern });
    return this.done({ packed: { ...facts, leftOut: leftOut.map(({ path }) => path) } });
  }
}

/** Reasons that nobody needs to be told each time: files of this machine, and packages, which trials have. */
const EXPECTED: ReadonlySet<string> = new Set([".git", ".sealift", "node_modules", "data of this machine"]);

/** Describes what a trial lacks, as archives do. */
export function* trialNotes({ leftOut }: { leftOut: readonly LeftOut[] }): Generator<string> {
  yield* leftOutLines(leftOut.filter(({ pattern }) => !EXPECTED.has(pattern)));
}

/** Describes what an archive lacks. */
export function* packingNotes(packed: PackedPlugin): Generator<string> {
  const { leftOut, missingDependencies: missing, foreignAddons } = packed;
  yield* leftOutLines(leftOut);
  for (const note of foreignAddons) yield `warning: ${note}`;
  if (missing.length > 0)
    yield `warning: The plugin imports ${missing.join(", ")}, and the archive has no such package. Give --with-dependencies, or bundle the plugin (docs/sdk.md).`;
}
