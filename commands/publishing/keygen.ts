import { Command, Option } from "clipanion";
import { SealiftCommand } from "../shell/base.ts";

export class Keygen extends SealiftCommand {
  static override paths = [["keygen"]];
  static override usage = Command.Usage({
    category: "Publishing",
    description: "Make a signer's key pair",
    details:
      "Writes `signer.key` (0600, the private seed) and `signer.pub` (the public key, to be pinned on hosts). Existing files are never replaced.",
    examples: [["Make a key pair", "$0 keygen --out ./keys"]],
  });

  out = Option.String("--out", { required: true, description: "Folder for signer.key and signer.pub" });

  override async run(): Promise<number> {
    const { generateSigner } = await import("../../lib/artifact/signatures/key-files.ts");
    const signer = await generateSigner(this.out);
    if (this.json)
      return this.done({
        private_key_file: signer.privateKeyFile,
        public_key_file: signer.publicKeyFile,
        public_key: signer.publicKey,
      });
    this.note(`Wrote ${signer.privateKeyFile} (keep it secret) and ${signer.publicKeyFile} (pin it on hosts).`);
    this.output.line(signer.publicKey);
    return 0;
  }
}
