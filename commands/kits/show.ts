import { resolve } from "node:path";
import { Command, Option } from "clipanion";
import { kitShow } from "../../lib/options/kits.ts";
import { withOptions } from "../shell/base.ts";

export class KitShow extends withOptions(kitShow) {
  static override paths = [["kit", "show"]];
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Show what a kit is for, without a hub",
    details: `
      Reads \`kit.json\`, and verifies nothing: whoever carries a stick can write there what they like. With
      \`--host-key-file\` it also says whether the kit is for this host, and compares what is sealed to it.
    `,
    examples: [["On a stick", "$0 kit show /media/stick"]],
  });

  folder = Option.String({ name: "FOLDER", required: true });

  override async run(): Promise<number> {
    const { openKitFolder } = await import("../../lib/artifact/kits/kit-folder.ts");
    const { text, size } = await openKitFolder(resolve(this.folder));
    const { id, hub, target, version, digest, made_at, ends_at, hosts } = text;
    const own = await this.#ownTerms(text);
    const facts = { kit: id, target, version, hub, made_at, ends_at, size_bytes: size, hosts: Object.keys(hosts) };
    if (!this.json) {
      this.print.line(`${target} ${version}, ${size} bytes, from ${hub}`);
      this.print.line(`${id}: made ${made_at}, ends ${ends_at}`);
      for (const fingerprint of facts.hosts)
        this.print.line(`for ${fingerprint}${fingerprint === own ? " (this host)" : ""}`);
    }
    return this.done({ ...facts, digest, is_for_this_host: this.options.hostKey === undefined ? null : own !== null });
  }

  /** Returns the fingerprint of this host, if the kit can be opened with its key; null otherwise. */
  async #ownTerms(text: Parameters<typeof Object.keys>[0] & { hosts: Record<string, string> }): Promise<string | null> {
    const { hostKey } = this.options;
    if (hostKey === undefined) return null;
    const [{ hostKeyIn }, { openKitTerms }] = await Promise.all([
      import("../../lib/agent/joining/host-key-file.ts"),
      import("../../lib/artifact/sealed/kit.ts"),
    ]);
    const key = hostKeyIn(hostKey, "--host-key-file");
    const sealed = text.hosts[key.fingerprint];
    if (sealed === undefined) return null;
    openKitTerms(sealed, key);
    return key.fingerprint;
  }
}
