import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { trustStart } from "../../lib/options/trust.ts";
import { withOptions } from "../shell/base.ts";
import { requireConsent } from "./consent.ts";

export class TrustStart extends withOptions(trustStart) {
  static override paths = [["trust", "start"]];
  static override usage = Command.Usage({
    category: "Signers",
    description: "Make a trust root: keys that name the signers of versions",
    details: `
      Writes version 1 of a root to FILE. It names root keys, of which two of three (or \`--threshold\`) sign each
      change, and the signers of versions. Hosts that follow the root take a new signer without being visited. Root
      keys are keys of their own, each kept by somebody else, best offline: \`sealift signer create --out FOLDER\`.

      With \`--from-signer\` the private key that hosts pin today countersigns: hosts with \`root: follow\` take this
      root once by it. Then the root keys sign (\`sealift trust sign\`), and \`sealift trust publish\` gives it to a hub.
    `,
    examples: [
      [
        "From today's pinned signer",
        "$0 trust start 1.root.json --from-signer signer.key --root-key a.pub --root-key b.pub --root-key c.pub",
      ],
    ],
  });

  file = Option.String({ name: "FILE", required: true });

  override async run(): Promise<number> {
    const { rootKeys, addSigner, fromSigner, threshold: given, yes } = this.options;
    const [{ newRoot, signedBy }, { parseRoot }, { keysFrom, signerIn, thresholdOf }, { writeNew }] = await Promise.all(
      [
        import("../../lib/artifact/trust/edit.ts"),
        import("../../lib/artifact/trust/root.ts"),
        import("./keys.ts"),
        import("../deploying/watch-files.ts"),
      ],
    );
    const signer = fromSigner === undefined ? undefined : await signerIn(fromSigner, "--from-signer");
    const root = await keysFrom(rootKeys, "--root-key");
    const added = await keysFrom(addSigner, "--add-signer");
    const signers = [...(signer === undefined ? [] : [{ key: signer.key, name: "today's signer" }]), ...added];
    if (signers.length === 0)
      throw usageError("usage", "A root names at least one signer of versions.", {
        hint: "Give --add-signer signer.pub, or --from-signer signer.key for the one that hosts pin today.",
      });
    const threshold = thresholdOf(given, { root });
    await requireConsent(threshold, yes, this.context);
    const text = newRoot({ root, signers, threshold }, Date.now());
    const made = parseRoot(signer === undefined ? text : signedBy(parseRoot(text, this.file), signer), this.file);
    await writeNew(this.file, made.text, "Choose another name.");
    this.note(`Wrote ${this.file}: version 1 of ${made.id}. ${threshold} of its root keys sign it now, each in turn:`);
    this.note(`  sealift trust sign ${this.file} --key PRIVATE_KEY`);
    this.note(`Then: sealift trust publish ${this.file} TARGET`);
    return this.done({ root_id: made.id, version: made.version, file: this.file });
  }
}
