import { Command, Option } from "clipanion";
import { artifactError, deploymentError } from "../../lib/contract/errors.ts";
import { signing } from "../../lib/options/marketplace.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { hubConnection, MARKETPLACE_TIMEOUT_MS } from "../shell/connection.ts";

export class MarketplaceSign extends withOptions(signing) {
  static override paths = [["marketplace", "sign"]];
  static override usage = Command.Usage({
    category: "Publishing",
    description: "Add your signature to a version that has none, such as an imported one",
    details: `
      Fetches the ZIP from the hub, shows its digest and where the hub says that it comes from, signs it on this
      machine with the author's private key, and uploads the signature. Hosts that pin your key take the version from
      then on.

      You vouch for these bytes: compare the digest with your own download of the source first, and give it with
      \`--sha256\`. Another archive is then not signed.
    `,
    examples: [
      ["Look first", "$0 marketplace sign tide-table 1.4.0 --dry-run"],
      ["Sign it", "$0 marketplace sign tide-table 1.4.0 --signing-key-file signer.key --sha256 9f86d0…"],
    ],
  });

  slug = Option.String({ name: "SLUG", required: true });
  version = Option.String({ name: "VERSION", required: true });

  override async run(): Promise<number> {
    const { kind, signingKey, sha256: expected, dryRun } = this.options;
    const [{ MarketplaceClient }, { keyService }, { fetchToSign }, { signingSeed }, { sizeText }] = await Promise.all([
      import("../../lib/client/marketplace-client.ts"),
      import("../../lib/client/key-service.ts"),
      import("../../lib/publisher/publish-archive.ts"),
      import("../shell/signer.ts"),
      import("../../lib/support/size-text.ts"),
    ]);
    const seed = dryRun ? undefined : await signingSeed(signingKey!, this.layers);
    using interrupt = interruptible();
    const connection = { ...hubConnection(this.options, MARKETPLACE_TIMEOUT_MS), signal: interrupt.signal };
    const client = new MarketplaceClient(kind, this.slug, connection);
    const { id } = await client.detail();
    if (id === undefined)
      throw deploymentError("not_found", `The hub does not say the id of the ${kind} ${this.slug}.`, {
        hint: "Only a Sealift hub keeps signatures of authors.",
      });
    await using archive = await fetchToSign(client, this.version, interrupt.signal);
    const { sha256, bytes, repo = null } = archive;
    this.note(`${this.slug} ${this.version}: sha256 ${sha256}, ${sizeText(bytes)}, from ${repo ?? "no repository"}`);
    if (expected !== undefined && expected !== sha256)
      throw artifactError("digest_mismatch", `The hub's archive has the digest ${sha256}, and you gave ${expected}.`, {
        hint: "Nothing was signed. Compare the hub's archive with the source.",
      });
    const facts = { slug: this.slug, version: this.version, sha256, repo, dry_run: dryRun };
    if (seed === undefined) return this.done({ ...facts, signer_public_key: null });
    const signature = await archive.sign(seed, interrupt.signal);
    await keyService(connection).signVersion({ params: { id, version: this.version }, body: signature });
    const signer = Buffer.from(signature.signer_public_key, "base64").toString("hex");
    this.note(`${this.slug} ${this.version} is signed by ${signer}.`);
    return this.done({ ...facts, signer_public_key: signer });
  }
}
