import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { marketplacePublication, searching } from "../../lib/options/marketplace.ts";
import { readFault } from "../../lib/support/files.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { hubConnection, MARKETPLACE_TIMEOUT_MS } from "../shell/connection.ts";
import { additionsOf, fetchOf, isStaged, keyFor } from "./features.ts";
import { endPublication, tellingRetries } from "./published-archive.ts";

export class MarketplacePublish extends withOptions(marketplacePublication) {
  static override paths = [["marketplace", "publish"]];
  static override usage = Command.Usage({
    category: "Publishing",
    description: "Publish a plugin or service on a hub's marketplace",
    details: `
      Signs the bytes of a ZIP with the signing secret on this machine, so that the hub never sees the secret, and
      uploads it; the hub stores and serves it unmodified. With \`--import\` the hub fetches the archive of
      \`owner/repo@tag\` from its source host instead, and signs it with the secret that was registered with it. Either
      way the archive is checked as a host would check it before anyone can see it.

      With \`--signing-key-file\` the archive carries your Ed25519 signature, too. Everyone who can check the signing
      secret's signature can also make it; this one only you can make, and hosts may demand it
      (\`--signer-public-key\`). Imported versions get one by \`marketplace sign\`.
    `,
    examples: [
      [
        "Publish an archive",
        "SEALIFT_SIGNING_SECRET=… $0 marketplace publish tide-table --version 1.4.0 --archive tide-table.zip",
      ],
      [
        "As its author, whom hosts can pin",
        "SEALIFT_SIGNING_SECRET=… $0 marketplace publish tide-table --version 1.4.0 --archive tide-table.zip " +
          "--signing-key-file keys/signer.key",
      ],
      [
        "From CI, without a stored key",
        "SEALIFT_SIGNING_SECRET=… $0 marketplace publish tide-table --version 1.4.0 --archive tide-table.zip --oidc",
      ],
      [
        "Have the hub fetch it",
        "$0 marketplace publish tide-table --version 1.4.0 --import --repo acme/tide-table@v1.4.0",
      ],
    ],
  });

  slug = Option.String({ name: "SLUG", required: true });

  override async run(): Promise<number> {
    const [{ MarketplaceClient }, { slug }] = await Promise.all([
      import("../../lib/client/marketplace-client.ts"),
      import("../../lib/contract/identifiers.ts"),
    ]);
    const { kind, version, archive, repo, signingSecret, signingKey, visibility } = this.options;
    const named = slug.safeParse(this.slug);
    if (!named.success) throw usageError("usage", `SLUG ${named.error.issues[0]!.message}.`);
    const fetch = fetchOf(this.options);
    if ((archive !== undefined) === (fetch !== undefined))
      throw usageError("usage", "Give either --archive FILE.zip or --import.");
    using interrupt = interruptible();
    if (archive !== undefined) await checkFile(archive);
    const { signal } = interrupt;
    const { hubUrl, timeoutMs = MARKETPLACE_TIMEOUT_MS } = this.options;
    const run = await keyFor(this.options, `${kind}:${this.slug}`, { hubUrl, timeoutMs, signal });
    const apiKey = run?.key ?? this.options.apiKey!;
    const hub = { ...hubConnection({ ...this.options, apiKey }, MARKETPLACE_TIMEOUT_MS), signal };
    const additions = await additionsOf(this.options, hub);
    const stage = isStaged(this.options);
    const common = { version, ...(visibility !== undefined && { visibility }) };
    const target = { kind, slug: this.slug };
    if (archive === undefined) {
      const release = await fetch!(target, { ...common, ...(stage && { stage }) }, hub);
      // With --import the key itself is not read.
      if (this.layers.some((layer) => layer.get("signing-key-file") !== undefined))
        this.warn(`The import is not signed by you: see \`sealift marketplace sign ${this.slug} ${version}\`.`);
      const published = { release, unchanged: false };
      return await endPublication(this.surroundings(), target, published, { seed: undefined, additions });
    }
    const [{ publishArchive }, { signingSeed }] = await Promise.all([
      import("../../lib/publisher/publish-archive.ts"),
      import("../shell/signer.ts"),
    ]);
    const client = new MarketplaceClient(kind, this.slug, hub);
    const seed = signingKey && (await signingSeed(signingKey, this.layers));
    if (seed !== undefined) {
      const { agreeToSigner } = await import("./new-signer.ts");
      const { newSigner } = this.options;
      await agreeToSigner(hub, { target: `${kind}:${this.slug}`, version, seed, newSigner }, this.consenting());
    }
    const secrets = { signingSecret: signingSecret!, seed };
    const fields = { ...common, ...(repo !== undefined && { repo }), ...(stage && { stage: "true" as const }) };
    const emit = tellingRetries(this.surroundings());
    const published = await publishArchive(client, fields, archive, secrets, { signal, emit });
    return await endPublication(this.surroundings(), target, published, { seed, additions });
  }
}

/** Checks that a file can be read. @throws UsageError `usage` */
async function checkFile(path: string): Promise<void> {
  const { stat } = await import("node:fs/promises");
  const stats = await stat(path).catch((error: Error) => {
    throw usageError("usage", `--archive ${path} cannot be read: ${readFault(error)}.`, {
      hint: "`sealift plugin pack` makes the ZIP of a plugin.",
    });
  });
  if (stats.isFile()) return;
  const what = stats.isDirectory() ? "a folder" : "no file";
  throw usageError("usage", `--archive ${path} is ${what}.`, {
    hint: "Give a ZIP, such as one that `git archive --format zip` makes.",
  });
}

export class MarketplaceSearch extends withOptions(searching) {
  static override paths = [["marketplace", "search"]];
  static override listed = async () =>
    Object.keys((await import("../../lib/contract/surfaces/marketplace.ts")).targetSummary.shape);
  static override usage = Command.Usage({
    category: "Publishing",
    description: "Find plugins or services by name, slug or description",
    examples: [["Find plugins", "$0 marketplace search tide"]],
  });

  text = Option.String({ name: "TEXT", required: true });

  override async run(): Promise<number> {
    const { searchTargets } = await import("../../lib/client/marketplace-client.ts");
    let count = 0;
    for await (const target of searchTargets(
      this.options.kind,
      this.text,
      hubConnection(this.options, MARKETPLACE_TIMEOUT_MS),
    )) {
      // Targets are printed as they arrive: the widths of the columns are fixed.
      if (count++ === 0 && this.isForPeople) this.print.line(foundLine("SLUG", "LATEST", "VISIBILITY", "DESCRIPTION"));
      const { slug, latest_version: latest, visibility, description, name } = target;
      if (this.json) this.print.event({ event: "target", ...target });
      else this.print.line(foundLine(slug, latest || "–", visibility, description ?? name));
    }
    if (count === 0) this.note("Nothing found.");
    return this.done({ count });
  }
}

const foundLine = (slug: string, latest: string, visibility: string, description: string): string =>
  `${slug.padEnd(32)} ${latest.padEnd(16)} ${visibility.padEnd(10)} ${description}`;
