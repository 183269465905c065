import { Command, Option } from "clipanion";
import type { NamedKey } from "../../lib/artifact/trust/edit.ts";
import type { TrustRoot } from "../../lib/artifact/trust/root.ts";
import { usageError } from "../../lib/contract/errors.ts";
import { trustSign } from "../../lib/options/trust.ts";
import { writeFileAtomic } from "../../lib/support/files.ts";
import { withOptions } from "../shell/base.ts";

/** Returns the refusal of a key whose signature would count nowhere, with the keys that could sign. */
function unnamed(
  { key, file, isAlone }: { key: string; file: string; isAlone: boolean },
  { version }: TrustRoot,
  keys: readonly NamedKey[],
) {
  const named = keys.map(({ key: { keyval, keytype }, name }) => {
    const shown = keytype === "ed25519" ? `${keyval.public.slice(0, 16)}…` : "P-256";
    return name === undefined ? shown : `${name} (${shown})`;
  });
  const ways = [`These could sign it: ${named.join(", ")}.`];
  if (isAlone && version > 1) ways.push(`A key of version ${version - 1} signs with --base ${version - 1}.root.json.`);
  if (version === 1) ways.push("A signer that hosts pin countersigns by `sealift trust start --from-signer`.");
  const message = `--key ${key} is no key of ${file}: its signature would count nowhere.`;
  return usageError("trust_key_unnamed", message, { hint: ways.join(" ") });
}

export class TrustSign extends withOptions(trustSign) {
  static override paths = [["trust", "sign"]];
  static override usage = Command.Usage({
    category: "Signers",
    description: "Sign a version of a trust root",
    details: `
      Adds the signature of a private key to FILE, and says which ones are missing still: Ed25519 as of
      \`sealift signer create\`, or P-256 in PEM. Read what it says before you sign. With \`--base\`, the version before,
      its keys are counted, too. A key that is none of these is refused. \`--signatures-of\` takes over the signatures of another copy.
    `,
    examples: [["On the machine of a root key", "$0 trust sign 2.root.json --base 1.root.json --key a/signer.key"]],
  });

  file = Option.String({ name: "FILE", required: true });

  override async run(): Promise<number> {
    const { key, signaturesOf, base } = this.options;
    if (key === undefined && signaturesOf === undefined)
      throw usageError("usage", "Nothing to sign with.", { hint: "Give --key, or --signatures-of with another copy." });
    const [edit, { parseRoot }, { rootIn, signerIn }, described] = await Promise.all([
      import("../../lib/artifact/trust/edit.ts"),
      import("../../lib/artifact/trust/root.ts"),
      import("./keys.ts"),
      import("./describe.ts"),
    ]);
    let root = await rootIn(this.file);
    const before = base === undefined ? undefined : await rootIn(base);
    if (signaturesOf !== undefined)
      root = parseRoot(edit.withSignaturesOf(root, await rootIn(signaturesOf)), this.file);
    if (key !== undefined) {
      const keys = edit.keysThatSign(root, before);
      const signer = await signerIn(key, "--key");
      const ids = edit.idsAmong(keys, signer);
      if (ids.length === 0) throw unnamed({ key, file: this.file, isAlone: before === undefined }, root, keys);
      root = parseRoot(edit.signedBy(root, signer, ids), this.file);
    }
    await writeFileAtomic(this.file, root.text);
    const states = described.signedStates(root, before);
    if (!this.json) for (const line of described.rootLines(root, before)) this.print.line(line);
    if (described.isComplete(states)) this.note(`Next: sealift trust publish ${this.file}`);
    return this.done({ root_id: root.id, version: root.version, file: this.file, signed: states });
  }
}
