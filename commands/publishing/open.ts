import { Command, Option } from "clipanion";
import { opening } from "../../lib/options/publish.ts";
import { limitsOf } from "../deploying/deploy-options.ts";
import { interruptible, withOptions } from "../shell/base.ts";

export class OpenArtifact extends withOptions(opening) {
  static override paths = [["artifact", "open"], ["open"]];
  static override usage = Command.Usage({
    category: "Publishing",
    description: "Inspect, verify or unpack an artifact offline",
    details: `
      Verifies the signature, the tag, the tree's digest and the manifest of an artifact file, and prints the manifest. With \`--out\` the tree
      is left in that folder, which must not exist. The key, signature and signer come from \`FILE.json\`, which \`deploy-publish --output\`
      writes, or from options. Without a key only the signature is checked.
    `,
    examples: [
      ["Verify an artifact", "$0 artifact open artifact.xdeploy --signer-public-key signer.pub"],
      ["Unpack it", "$0 artifact open artifact.xdeploy --signer-public-key signer.pub --out ./tree"],
    ],
  });

  file = Option.String({ name: "FILE", required: true });

  override async run(): Promise<number> {
    const [{ openFile, readOpeningKeys }, { publicKeyFrom }] = await Promise.all([
      import("../../lib/artifact/project/open-file.ts"),
      import("../shell/signer.ts"),
    ]);
    const { signerPublicKey, signature, dekFile, out } = this.options;
    using interrupt = interruptible();
    const keys = await readOpeningKeys(this.file, { signature, dekFile });
    const found = await openFile(this.file, {
      ...keys,
      signerPublicKey: await publicKeyFrom(signerPublicKey),
      limits: limitsOf(this.options),
      signal: interrupt.signal,
      ...(out !== undefined && { out }),
    });
    if (this.json) return this.done({ verified: true, ...found });
    this.note(
      found.manifest === null
        ? "The signature holds. Without a key the content stays closed."
        : `Everything holds: ${found.files} files, ${found.bytes} bytes.`,
    );
    if (found.manifest !== null) this.print.line(JSON.stringify(found.manifest, null, 2));
    return 0;
  }
}
