import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import type { Settings } from "../../lib/support/settings.ts";
import { interruptible, SealiftCommand } from "../shell/base.ts";
import { limitOptions, limitsFrom } from "../shell/limit-options.ts";

export class OpenArtifact extends SealiftCommand {
  static override paths = [["open"]];
  static override usage = Command.Usage({
    category: "Publishing",
    description: "Inspect, verify or unpack an artifact offline",
    details: `
      Verifies the signature, the tag, the tree's digest and the manifest of an artifact file, and prints the manifest. With \`--out\` the tree
      is left in that folder, which must not exist. The key, signature and signer come from \`FILE.json\`, which \`deploy-publish --output\`
      writes, or from options. Without a key only the signature is checked.
    `,
    examples: [
      ["Verify an artifact", "$0 open artifact.xdeploy --signer-public-key signer.pub"],
      ["Unpack it", "$0 open artifact.xdeploy --signer-public-key signer.pub --out ./tree"],
    ],
  });

  file = Option.String({ name: "FILE", required: true });
  signerPublicKey = Option.String("--signer-public-key", {
    description: "The publisher's public key: a file, hex or base64 (required)",
  });
  signature = Option.String("--signature", { description: "The signature in base64 (default: from FILE.json)" });
  dekFile = Option.String("--dek-file", {
    description: "File with the key in base64 or hex (default: from FILE.json)",
  });
  out = Option.String("--out", { description: "Leave the tree in this new folder" });
  maxEntries = limitOptions.maxEntries();
  maxEntrySize = limitOptions.maxEntrySize();
  maxTotalSize = limitOptions.maxTotalSize();
  maxRatio = limitOptions.maxRatio();
  maxDepth = limitOptions.maxDepth();
  maxNameLength = limitOptions.maxNameLength();

  override async run(settings: Settings): Promise<number> {
    const [{ openFile, readOpeningKeys }, { publicKeyFrom }] = await Promise.all([
      import("../../lib/artifact/project/open-file.ts"),
      import("../shell/signer-option.ts"),
    ]);
    if (this.signerPublicKey === undefined) {
      throw usageError("usage", "--signer-public-key is missing.", {
        hint: "Give the publisher's signer.pub: without it nothing can be verified.",
      });
    }
    using interrupt = interruptible();
    const keys = await readOpeningKeys(this.file, { signature: this.signature, dekFile: this.dekFile });
    const found = await openFile(this.file, {
      ...keys,
      signerPublicKey: await publicKeyFrom(this.signerPublicKey),
      limits: limitsFrom(settings),
      signal: interrupt.signal,
      ...(this.out !== undefined && { out: this.out }),
    });
    if (this.json) return this.done({ verified: true, ...found });
    this.note(
      found.manifest === null
        ? "The signature holds. Without a key the content stays closed."
        : `Everything holds: ${found.files} files, ${found.bytes} bytes.`,
    );
    if (found.manifest !== null) this.output.line(JSON.stringify(found.manifest, null, 2));
    return 0;
  }
}
