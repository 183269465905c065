import { resolve } from "node:path";
import { Command, Option } from "clipanion";
import type { KitFolder } from "../../lib/artifact/kits/kit-folder.ts";
import { kitShow } from "../../lib/options/kits.ts";
import { withOptions } from "../shell/base.ts";

export class KitShow extends withOptions(kitShow) {
  static override paths = [["kit", "show"]];
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Show what a kit is for, without a hub",
    details: `
      Reads \`kit.json\`, and verifies only that the key which it names has signed it: whoever carries a stick can write
      there what they like, and sign it with a key of their own. The key is the hub's if the hub shows the same:
      \`sealift kit key\`. With \`--host-key-file\` it says whether the kit is for this host, and compares it with what is
      sealed to the host. The bytes of the version are verified when it is deployed.
    `,
    examples: [["On a stick", "$0 kit show /media/stick"]],
  });

  folder = Option.String({ name: "FOLDER", required: true });

  override async run(): Promise<number> {
    const { openKitFolder, requireHubsWord } = await import("../../lib/artifact/kits/kit-folder.ts");
    const kit = await openKitFolder(resolve(this.folder));
    const { text, size } = kit;
    requireHubsWord(text);
    const { id, hub, target, version, digest, made_at, ends_at, hosts, hub_signature: signature } = text;
    const own = await this.#ownFingerprint(kit);
    const has_ended = Date.parse(ends_at) <= Date.now();
    const facts = { kit: id, target, version, hub, made_at, ends_at, size_bytes: size, hosts: Object.keys(hosts) };
    if (!this.json) {
      this.print.line(`${target} ${version}, ${size} bytes, from ${hub}`);
      this.print.line(`${id}: made ${made_at}, ${has_ended ? "ended" : "ends"} ${ends_at}`);
      this.print.line(`signed with the key ${signature.key}: compare it with the hub's`);
      for (const fingerprint of facts.hosts)
        this.print.line(`for ${fingerprint}${fingerprint === own ? " (this host)" : ""}`);
    }
    return this.done({
      ...facts,
      ...{ digest, hub_key: signature.key },
      has_ended,
      is_for_this_host: this.options.hostKey === undefined ? null : own !== null,
    });
  }

  /** Returns the fingerprint of this host, if the kit is for it, and agrees with its terms; null otherwise. */
  async #ownFingerprint(kit: KitFolder): Promise<string | null> {
    const { hostKey } = this.options;
    if (hostKey === undefined) return null;
    const [{ hostKeyIn }, { hostTerms }] = await Promise.all([
      import("../../lib/agent/joining/host-key-file.ts"),
      import("../../lib/agent/sources/kits/host-kit.ts"),
    ]);
    const key = hostKeyIn(hostKey, "--host-key-file");
    return Object.hasOwn(kit.text.hosts, key.fingerprint) ? hostTerms(kit, key).to : null;
  }
}
