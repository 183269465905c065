import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { trustSign } from "../../lib/options/trust.ts";
import { writeFileAtomic } from "../../lib/support/files.ts";
import { withOptions } from "../shell/base.ts";

export class TrustSign extends withOptions(trustSign) {
  static override paths = [["trust", "sign"]];
  static override usage = Command.Usage({
    category: "Publishing",
    description: "Sign a version of a trust root",
    details: `
      Adds the signature of a private key to FILE, and says which ones are missing still: Ed25519 as of
      \`sealift signer create\`, or P-256 in PEM. Read what it says before you sign. With \`--base\`, the version before,
      its keys are counted, too. \`--signatures-of\` takes over the signatures of another copy.
    `,
    examples: [["On the machine of a root key", "$0 trust sign 2.root.json --base 1.root.json --key a/signer.key"]],
  });

  file = Option.String({ name: "FILE", required: true });

  override async run(): Promise<number> {
    const { key, signaturesOf, base } = this.options;
    if (key === undefined && signaturesOf === undefined)
      throw usageError("usage", "Nothing to sign with.", { hint: "Give --key, or --signatures-of with another copy." });
    const [{ signedBy, withSignaturesOf }, { parseRoot }, { rootIn, signerIn }, described] = await Promise.all([
      import("../../lib/artifact/trust/edit.ts"),
      import("../../lib/artifact/trust/root.ts"),
      import("./keys.ts"),
      import("./describe.ts"),
    ]);
    let root = await rootIn(this.file);
    const before = base === undefined ? undefined : await rootIn(base);
    if (signaturesOf !== undefined) root = parseRoot(withSignaturesOf(root, await rootIn(signaturesOf)), this.file);
    if (key !== undefined) root = parseRoot(signedBy(root, await signerIn(key, "--key")), this.file);
    await writeFileAtomic(this.file, root.text);
    const states = described.signedStates(root, before);
    if (!this.json) for (const line of described.rootLines(root, before)) this.print.line(line);
    if (described.isComplete(states)) this.note(`Next: sealift trust publish ${this.file}`);
    return this.done({ root_id: root.id, version: root.version, file: this.file, signed: states });
  }
}
