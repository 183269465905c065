import { Command } from "clipanion";
import { keyPair } from "../../lib/options/publish.ts";
import { withOptions } from "../shell/base.ts";

export class Keygen extends withOptions(keyPair) {
  static override paths = [["signer", "create"], ["keygen"]];
  static override usage = Command.Usage({
    category: "Publishing",
    description: "Make a signer's key pair",
    details:
      "Writes `signer.key` (0600, the private key) and `signer.pub` (the public key, to be pinned on hosts), in PEM. Existing files are never replaced.",
    examples: [["Make a key pair", "$0 signer create --out ./keys"]],
  });

  override async run(): Promise<number> {
    const { generateSigner } = await import("../../lib/artifact/signatures/key-files.ts");
    const signer = await generateSigner(this.options.out);
    if (this.json)
      return this.done({
        private_key_file: signer.privateKeyFile,
        public_key_file: signer.publicKeyFile,
        public_key: signer.publicKey,
      });
    this.note(`Wrote ${signer.privateKeyFile} (keep it secret) and ${signer.publicKeyFile} (pin it on hosts).`);
    this.print.line(signer.publicKey);
    return 0;
  }
}
