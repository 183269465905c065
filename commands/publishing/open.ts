import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { Command, Option } from "clipanion";
import type { OpenedFile } from "../../lib/artifact/delta/open-file.ts";
import { limitsOf } from "../../lib/artifact/limits.ts";
import { originText, versionOfBytes } from "../../lib/client/version-origins.ts";
import type { ManagedVersion } from "../../lib/contract/surfaces/keys.ts";
import { opening } from "../../lib/options/publish.ts";
import { counted } from "../../lib/support/counted.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";

export class OpenArtifact extends withOptions(opening) {
  static override paths = [["artifact", "open"], ["open"]];
  static override usage = Command.Usage({
    category: "Publishing",
    description: "Inspect, verify or unpack an artifact, delta or ZIP offline",
    details: `
      Verifies the signature, the tag, the tree's digest and the manifest of an artifact file, and prints the manifest.
      With \`--out\` the tree is left in that folder, which must not exist. The key, signature and signer come from
      \`FILE.json\`, which \`deploy-publish --out\` writes, or from options. Without a key only the signature is
      checked.

      Of a delta it says what changes. With \`--base\`, a tree that this command left, the delta is completed and the
      whole tree verified.

      The file alone does not say who published it. With \`--published-as\` the hub is asked as well, by the digest of
      the file.

      Of a plugin's or service's ZIP it verifies the author's signature: \`--signature\` is the header
      \`X-Signature-Ed25519\` that the hub sends with it.
    `,
    examples: [
      ["Verify an artifact", "$0 artifact open artifact.xdeploy --signer-public-key signer.pub"],
      ["Unpack it", "$0 artifact open artifact.xdeploy --signer-public-key signer.pub --out ./tree"],
      [
        "Complete a delta",
        "$0 artifact open artifact.xdeploy.from-1.3.0 --signer-public-key signer.pub --base ./tree-1.3.0 --out ./tree",
      ],
      [
        "Ask who published and who approved it, too",
        "$0 artifact open artifact.xdeploy --signer-public-key signer.pub --published-as Harbour",
      ],
    ],
  });

  file = Option.String({ name: "FILE", required: true });

  override async run(): Promise<number> {
    const [{ openFile, readOpeningKeys }, { publicKeyFrom }] = await Promise.all([
      import("../../lib/artifact/delta/open-file.ts"),
      import("../shell/signer.ts"),
    ]);
    const { signerPublicKey, signature, dekFile, base, out } = this.options;
    using interrupt = interruptible();
    const keys = await readOpeningKeys(this.file, { signature, dekFile });
    const publicKey = await publicKeyFrom(signerPublicKey);
    const found = await openFile(this.file, {
      ...keys,
      signerPublicKey: publicKey,
      limits: limitsOf(this.options),
      signal: interrupt.signal,
      ...(base !== undefined && { base }),
      ...(out !== undefined && { out }),
    });
    const signer = Buffer.from(publicKey).toString("hex");
    const published = await this.#published(interrupt.signal);
    if (this.json)
      return this.done({ verified: true, signer, ...found, ...(published !== undefined && { published }) });
    this.note(`${sentence(found, base !== undefined)}\nSigned by ${signer}.`);
    if (published !== undefined) this.note(`${published.version} was published by ${originText(published)}.`);
    if (found.manifest !== null) this.print.text(JSON.stringify(found.manifest, null, 2));
    return 0;
  }

  /** Finds the version with the bytes of the file at the hub, if requested. @throws as `versionOfBytes` */
  async #published(signal: AbortSignal): Promise<Published | undefined> {
    const { publishedAs, hubUrl, apiKey, timeoutMs } = this.options;
    if (publishedAs === undefined || hubUrl === undefined || apiKey === undefined) return undefined;
    const hub = { ...hubConnection({ hubUrl, apiKey, timeoutMs }, DEPLOY_TIMEOUT_MS), signal };
    const { targetCalled } = await import("../../lib/client/lookup.ts");
    const hash = createHash("sha256");
    await pipeline(createReadStream(this.file), hash, { signal });
    const target = await targetCalled(hub, publishedAs);
    const { version, published_by, approved_by, statements } = await versionOfBytes(target, hub, hash.digest("hex"));
    return { version, published_by, approved_by, statements };
  }
}

/** Facts that a hub states of the version with the bytes of a file. */
type Published = Pick<ManagedVersion, "version" | "published_by" | "approved_by" | "statements">;

function sentence({ format, manifest, files, bytes, delta }: OpenedFile, completed: boolean): string {
  if (format === "zip") return `The author's signature holds: ${counted(files, "file")}, ${counted(bytes, "byte")}.`;
  if (manifest === null) return "The signature holds. Without a key the content stays closed.";
  if (delta === null) return `Everything holds: ${counted(files, "file")}, ${counted(bytes, "byte")}.`;
  const { base, written, dropped, new_bytes: fresh } = delta;
  if (completed)
    return `Everything holds, completed from ${base.version}: ${counted(files, "file")}, ${counted(bytes, "byte")}.`;
  return (
    `The signature holds. A delta from ${base.version} to ${manifest.version}: ` +
    `it writes ${counted(written, "file")}, ${counted(fresh, "byte")} of them new, and removes ${dropped}.\n` +
    `With --base, the tree of ${base.version}, the whole tree is verified, too.`
  );
}
