import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { folderTrust } from "../../lib/options/login.ts";
import { withoutPasswords } from "../../lib/support/printable.ts";
import { withOptions } from "../shell/base.ts";

export class TrustFolder extends withOptions(folderTrust) {
  static override paths = [["trust-folder"]];
  static override listed = () => ["path", "digest"];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Let the sealift.yaml of a folder name hubs and secret files",
    details: `
      Read the file first: the keys that it names say where your secrets go. The file is trusted as it is now; after a
      change it must be trusted again. A file that is given by \`--config\` counts without this. In CI, where an author
      of a pull request can change the file, set \`SEALIFT_TRUST_FOLDER\` to the digest that \`--list\` shows; \`yes\`
      trusts every folder.
    `,
    examples: [
      ["This folder", "$0 trust-folder"],
      ["What is trusted", "$0 trust-folder --list"],
      ["No longer", "$0 trust-folder --remove ./app"],
    ],
  });

  folder = Option.String({ name: "FOLDER", required: false });

  override async run(): Promise<number> {
    const [{ realpath }, { join, resolve }, files, { DEFAULT_FILE, optionsFile, regularFile }] = await Promise.all([
      import("node:fs/promises"),
      import("node:path"),
      import("../../lib/options/trusted-folders.ts"),
      import("../../lib/options/options-file.ts"),
    ]);
    const { list, remove, dryRun } = this.options;
    if (dryRun && !remove) throw usageError("usage", "--dry-run goes with --remove.");
    if (list) {
      const trusted = Object.entries(files.trustedFiles());
      for (const [path, digest] of trusted)
        if (this.json) this.print.event({ event: "trusted", path, digest });
        else this.print.line(`${path}  ${digest}`);
      return this.done({ count: trusted.length });
    }
    const file = join(resolve(this.folder ?? "."), DEFAULT_FILE);
    if (remove) {
      const path = await realpath(file).catch(() => file);
      const found = dryRun ? path in files.trustedFiles() : await files.distrustFile(path);
      if (!found) throw usageError("usage", `${file} is not trusted.`, { hint: "`--list` shows the trusted files." });
      this.note(dryRun ? `would no longer trust ${file}` : `${file} is no longer trusted.`);
      return this.done({ path: file, dry_run: dryRun });
    }
    const { text, guarded } = (await optionsFile(regularFile(file) ?? file))!;
    const { path, digest } = await files.trustFile(file, text);
    for (const [key, value] of guarded) this.note(`  ${key}: ${withoutPasswords(String(value))}`);
    this.note(`${path} is trusted as it is now (${digest}).`);
    return this.done({ path, digest, keys: [...guarded.keys()] });
  }
}
