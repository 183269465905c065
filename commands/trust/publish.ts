import { Command, Option } from "clipanion";
import { trustPublish } from "../../lib/options/trust.ts";
import { counted } from "../../lib/support/counted.ts";
import { managed } from "../hub/managed.ts";
import { withOptions } from "../shell/base.ts";

export class TrustPublish extends withOptions(trustPublish) {
  static override paths = [["trust", "publish"]];
  static override usage = Command.Usage({
    category: "Signers",
    description: "Give a version of a trust root to the hub, for hosts to follow",
    details: `
      The hub verifies it as hosts do: it has enough signatures of the version before, and of its own keys. TARGETs are
      projects, plugins and services that follow the root from now on; those that do already need not be named. Their
      registers of signers follow it, too, and their hosts take it over at their next check.
    `,
    examples: [
      ["Version 1, for a project and a plugin", "$0 trust publish 1.root.json harbour plugin:tide-table"],
      ["The next version", "$0 trust publish 2.root.json"],
    ],
  });

  file = Option.String({ name: "FILE", required: true });
  targets = Option.Rest({ name: "TARGET" });

  override async run(): Promise<number> {
    const [{ rootIn }, { callsOf }, { publishRoot }] = await Promise.all([
      import("./keys.ts"),
      import("../../lib/client/calls.ts"),
      import("../../lib/contract/trust/routes.ts"),
    ]);
    const { text: root } = await rootIn(this.file);
    const { hub, idOf } = await managed(this.options);
    const targets: string[] = [];
    for (const target of this.targets) targets.push(await idOf(target));
    const record = await callsOf({ publishRoot }, hub).publishRoot({ body: { root, targets } });
    const { length } = record.targets;
    const follow = `${counted(length, "target")} follow${length === 1 ? "s" : ""} it.`;
    this.note(`The hub has version ${record.version} of ${record.id}. ${follow}`);
    if (length === 0) this.note(`Nobody follows it yet: sealift trust publish ${this.file} TARGET`);
    return this.done({ root: record });
  }
}
