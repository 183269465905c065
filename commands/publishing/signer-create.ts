import { Command } from "clipanion";
import { keyPair } from "../../lib/options/publish.ts";
import { withOptions } from "../shell/base.ts";

export class SignerCreate extends withOptions(keyPair) {
  static override paths = [["signer", "create"]];
  static override usage = Command.Usage({
    category: "Publishing",
    description: "Make a signer's key pair",
    details: `
      Writes \`signer.key\` (0600, the private key) and \`signer.pub\` (the public key, to be pinned on hosts), in PEM.
      With \`--with-signing-secret\` it writes \`signing.secret\` (0600), too: the secret that a plugin's or service's
      archives are signed with, and that hosts verify them with. Existing files are never replaced.
    `,
    examples: [
      ["Make a key pair", "$0 signer create --out ./keys"],
      ["For an author of plugins", "$0 signer create --out ./keys --with-signing-secret"],
    ],
  });

  override async run(): Promise<number> {
    const { generateSecret, generateSigner } = await import("../../lib/artifact/signatures/key-files.ts");
    const { out, withSecret } = this.options;
    const secretFile = withSecret ? await generateSecret(out) : undefined;
    const signer = await generateSigner(out);
    if (this.json)
      return this.done({
        ...(secretFile !== undefined && { signing_secret_file: secretFile }),
        private_key_file: signer.privateKeyFile,
        public_key_file: signer.publicKeyFile,
        public_key: signer.publicKey,
      });
    this.note(`Wrote ${signer.privateKeyFile} (keep it secret) and ${signer.publicKeyFile} (pin it on hosts).`);
    if (secretFile !== undefined) this.note(`Wrote ${secretFile}: hosts that deploy your plugins need it, too.`);
    this.print.line(signer.publicKey);
    return 0;
  }
}
