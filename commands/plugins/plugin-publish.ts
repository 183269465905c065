import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command, Option } from "clipanion";
import { pluginPublication } from "../../lib/options/marketplace.ts";
import { counted } from "../../lib/support/counted.ts";
import { statementsOf } from "../publishing/statements.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { hubConnection, MARKETPLACE_TIMEOUT_MS } from "../shell/connection.ts";
import { signedBy, storedAs, whoGetsIt } from "../shell/output/version-state.ts";
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
    const { include, withDependencies, signingSecret, signingKey, visibility, stage } = this.options;
    const [{ packPlugin }, { MarketplaceClient }, { NOT_KEPT, publishArchive }, { signingSeed }] = await Promise.all([
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
      const packed = await packPlugin({ folder: this.folder ?? ".", include, withDependencies, output });
      for (const line of packingNotes(packed)) this.note(line);
      const { name, version } = packed;
      const hub = { ...hubConnection(this.options, MARKETPLACE_TIMEOUT_MS), signal: interrupt.signal };
      const client = new MarketplaceClient("plugin", name, hub);
      const statements = await statementsOf(this.options, hub);
      const asked = { ...(visibility !== undefined && { visibility }), ...(stage && { stage: "true" as const }) };
      const fields = { version, ...asked };
      const { release, unchanged } = await publishArchive(
        client,
        fields,
        output,
        { signingSecret, seed },
        interrupt.signal,
      );
      if (seed !== undefined && release.signer_public_key === undefined) this.warn(NOT_KEPT);
      const { size_bytes: size, sha256, state, signer_public_key: signer } = release;
      const added = await statements?.add(
        { kind: "plugin", slug: name },
        { version },
        signer === undefined ? undefined : seed,
      );
      if (!this.json)
        this.print.line(
          `${storedAs(state, unchanged)} ${name} ${release.version} (${counted(size, "byte")})${signedBy(signer)}`,
        );
      const notice = whoGetsIt(state, { target: name, version: release.version, sha256 });
      if (!this.json && notice !== undefined) this.print.line(notice);
      return this.done({ release, unchanged, ...(added !== undefined && { statements: added }) });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}
