import { dirname, join } from "node:path";
import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { rootFileName } from "../../lib/contract/trust/marks.ts";
import { trustChange } from "../../lib/options/trust.ts";
import { withOptions } from "../shell/base.ts";
import { requireConsent } from "./consent.ts";

export class TrustChange extends withOptions(trustChange) {
  static override paths = [["trust", "change"]];
  static override usage = Command.Usage({
    category: "Signers",
    description: "Make the next version of a trust root",
    details: `
      Reads the newest version from FILE and writes the one after it, with other signers, root keys or threshold.
      Nobody has signed it yet: root keys of the version before and of the new one do, each up to its threshold. The
      file travels between them; their machines never meet.
    `,
    examples: [
      ["Replace a laptop's key", "$0 trust change 1.root.json --remove-signer old-laptop --add-signer laptop.pub"],
      ["A root key is lost", "$0 trust change 4.root.json --remove-root-key carol --add-root-key dave.pub"],
    ],
  });

  file = Option.String({ name: "FILE", required: true });

  override async run(): Promise<number> {
    const { addSigner, removeSigner, addRootKey, removeRootKey, threshold, yes, out, dryRun } = this.options;
    const [{ changedRoot, keysOfRoot }, { parseRoot }, { keysFrom, rootIn, thresholdOf, without }, { writeNew }] =
      await Promise.all([
        import("../../lib/artifact/trust/edit.ts"),
        import("../../lib/artifact/trust/root.ts"),
        import("./keys.ts"),
        import("../deploying/watch-files.ts"),
      ]);
    const current = await rootIn(this.file);
    const before = keysOfRoot(current);
    const root = [
      ...(await without(before.root, removeRootKey, "--remove-root-key")),
      ...(await keysFrom(addRootKey, "--add-root-key")),
    ];
    const signers = [
      ...(await without(before.signers, removeSigner, "--remove-signer")),
      ...(await keysFrom(addSigner, "--add-signer")),
    ];
    if (signers.length === 0)
      throw usageError("usage", "Without a signer nobody could publish what hosts install.", {
        hint: "Add another one in the same step: --add-signer signer.pub.",
      });
    const next = { root, signers, threshold: thresholdOf(threshold ?? before.threshold, { root }) };
    if (next.threshold !== before.threshold) await requireConsent(next.threshold, yes, this.context);
    const made = parseRoot(changedRoot(current, next, Date.now()), "The new version");
    if (dryRun) {
      const { rootFacts, rootLines } = await import("./describe.ts");
      if (!this.json) for (const line of rootLines(made, current)) this.print.line(line);
      return this.done({ root: rootFacts(made, current), dry_run: true });
    }
    const file = out ?? join(dirname(this.file), rootFileName(made.version));
    await writeNew(file, made.text, "Choose another name.");
    this.note(`Wrote ${file}: version ${made.version} of ${made.id}. Its root keys and those of ${this.file} sign it:`);
    this.note(`  sealift trust sign ${file} --base ${this.file} --key PRIVATE_KEY`);
    return this.done({ root_id: made.id, version: made.version, file });
  }
}
