import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command, Option } from "clipanion";
import { pluginPublication } from "../../lib/options/marketplace.ts";
import { additionsOf, isStaged } from "../publishing/features.ts";
import { endPublication, tellingRetries } from "../publishing/published-archive.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { hubConnection, MARKETPLACE_TIMEOUT_MS } from "../shell/connection.ts";
import { packingNotes } from "./plugin-pack.ts";

export class PluginPublish extends withOptions(pluginPublication) {
  static override paths = [["plugin", "publish"]];
  static override usage = Command.Usage({
    category: "Plugins",
    description: "Pack a plugin and publish it on a hub's marketplace",
    details: `
      Packs the folder as \`plugin pack\` does, signs the archive with your signing secret on this machine, and
      publishes it under the name and version of its descriptor. The plugin has to exist on the hub: \`sealift project
      create NAME --kind plugin --slug SLUG\` makes it. Where a private key is given or configured
      (\`signing_key_file\`), the archive carries your Ed25519 signature, too, which hosts may demand.
    `,
    examples: [
      ["The plugin in this folder", "SEALIFT_SIGNING_SECRET=… $0 plugin publish . --hub-url https://hub.example"],
    ],
  });

  folder = Option.String({ required: false, name: "FOLDER" });

  override async run(): Promise<number> {
    const { include, withDependencies, platform, signingSecret, signingKey, visibility } = this.options;
    const [{ packPlugin }, { MarketplaceClient }, { publishArchive }, { signingSeed }] = await Promise.all([
      import("../../lib/runtime/authoring/pack.ts"),
      import("../../lib/client/marketplace-client.ts"),
      import("../../lib/publisher/publish-archive.ts"),
      import("../shell/signer.ts"),
    ]);
    const seed = signingKey && (await signingSeed(signingKey, this.layers));
    using interrupt = interruptible();
    const folder = await mkdtemp(join(tmpdir(), "sealift-pack-"));
    try {
      const output = join(folder, "plugin.zip");
      const packed = await packPlugin({ folder: this.folder ?? ".", include, withDependencies, platform, output });
      for (const line of packingNotes(packed)) this.note(line);
      const { name, version } = packed;
      const hub = { ...hubConnection(this.options, MARKETPLACE_TIMEOUT_MS), signal: interrupt.signal };
      const client = new MarketplaceClient("plugin", name, hub);
      const additions = await additionsOf(this.options, hub);
      if (seed !== undefined) {
        const { agreeToSigner } = await import("../publishing/new-signer.ts");
        const { newSigner } = this.options;
        await agreeToSigner(hub, { target: `plugin:${name}`, version, seed, newSigner }, this.consenting());
      }
      const asked = {
        ...(visibility !== undefined && { visibility }),
        ...(isStaged(this.options) && { stage: "true" as const }),
      };
      const fields = { version, ...asked };
      const secrets = { signingSecret, seed };
      const emit = tellingRetries(this.surroundings());
      const published = await publishArchive(client, fields, output, secrets, { signal: interrupt.signal, emit });
      return await endPublication(this.surroundings(), { kind: "plugin", slug: name }, published, { seed, additions });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}
