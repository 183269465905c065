import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { Command, Option } from "clipanion";
import type { TrustRoot } from "../../lib/artifact/trust/root.ts";
import { deploymentError, usageError } from "../../lib/contract/errors.ts";
import { rootFileName } from "../../lib/contract/trust/marks.ts";
import { trustShow } from "../../lib/options/trust.ts";
import { managed } from "../hub/managed.ts";
import { withOptions } from "../shell/base.ts";

export class TrustShow extends withOptions(trustShow) {
  static override paths = [["trust", "show"]];
  static override usage = Command.Usage({
    category: "Signers",
    description: "Show a trust root: its keys, its signers, and who has signed it",
    details: `
      Shows a file, or what the hub has for a project, plugin or service. With \`--out\` the hub's newest version is
      written to a file, or all of its versions to a folder, for hosts that get them by another way (\`--root FOLDER\`).
      With \`--base\`, the version before, its signatures are counted, too.
    `,
    examples: [
      ["Who has to sign", "$0 trust show 2.root.json --base 1.root.json"],
      ["What the hub has", "$0 trust show harbour --out root.json"],
    ],
  });

  subject = Option.String({ name: "FILE|TARGET", required: true });

  override async run(): Promise<number> {
    const { base, out } = this.options;
    const [{ rootIn }, { rootFacts, rootLines }] = await Promise.all([import("./keys.ts"), import("./describe.ts")]);
    const isFile = existsSync(this.subject);
    const versions = isFile ? [await rootIn(this.subject)] : await this.#atHub();
    const root = versions.at(-1)!;
    const before = base === undefined ? versions.at(-2) : await rootIn(base);
    const files = out === undefined ? [] : await written(versions, out);
    if (this.json) return this.done({ root: rootFacts(root, before), files });
    for (const line of rootLines(root, before)) this.print.line(line);
    for (const file of files) this.note(`Wrote ${file}.`);
    return this.done({});
  }

  /** Reads all versions that the hub has. @throws DeploymentError `not_found` for a target that follows no root */
  async #atHub(): Promise<TrustRoot[]> {
    const { hubUrl, apiKey } = this.options;
    if (hubUrl === undefined || apiKey === undefined)
      throw usageError("usage", `There is no file ${this.subject}, and no hub was named to ask about such a target.`, {
        hint: "Give a file, or --hub-url and a key; `sealift login URL` keeps them.",
      });
    const [{ rootOfTarget, readRootVersion }, { parseRoot }] = await Promise.all([
      import("../../lib/client/trust-roots.ts"),
      import("../../lib/artifact/trust/root.ts"),
    ]);
    const { hub, idOf } = await managed({ ...this.options, hubUrl, apiKey });
    const record = await rootOfTarget(hub, await idOf(this.subject));
    if (record === undefined)
      throw deploymentError("not_found", `${this.subject} follows no trust root at this hub.`, {
        hint: "`sealift trust start` makes one.",
      });
    const versions: TrustRoot[] = [];
    for (let version = 1; version <= record.version; version++)
      versions.push(parseRoot(await readRootVersion(hub, record.id, version), `Version ${version} of ${record.id}`));
    return versions;
  }
}

/** Writes the newest version to a new file, or all versions to a folder. */
async function written(versions: readonly TrustRoot[], out: string): Promise<string[]> {
  const { writeNew } = await import("../deploying/watch-files.ts");
  const isFolder = (await stat(out).catch(() => undefined))?.isDirectory() === true;
  const files = isFolder
    ? versions.map((root) => ({ file: join(out, rootFileName(root.version)), text: root.text }))
    : [{ file: out, text: versions.at(-1)!.text }];
  for (const { file, text } of files) await writeNew(file, text, "Choose another name.");
  return files.map(({ file }) => file);
}
