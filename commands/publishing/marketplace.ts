import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import type { TargetKind } from "../../lib/contract/surfaces/paths.ts";
import type { Settings } from "../../lib/support/settings.ts";
import { HubCommand, hubConnection, MARKETPLACE_TIMEOUT_MS } from "../hub/hub-options.ts";
import { interruptible } from "../shell/base.ts";

const kindOf = (settings: Settings): TargetKind => settings.choice("kind", ["plugin", "service"], "plugin");

export class MarketplacePublish extends HubCommand {
  static override paths = [["marketplace", "publish"]];
  static override usage = Command.Usage({
    category: "Publishing",
    description: "Publish a plugin or service on a hub's marketplace",
    details: `
      Signs the bytes of a ZIP with the signing secret on this machine, so that the hub never sees the secret, and uploads it; the hub stores and
      serves it unmodified. With \`--import\` the hub fetches the archive of \`owner/repo@tag\` from its source host instead, and signs it with the
      secret that was registered with it. Either way the archive is checked as a host would check it before anyone can see it.
    `,
    examples: [
      [
        "Publish an archive",
        "SEALIFT_SIGNING_SECRET=… $0 marketplace publish tide-table --version 1.4.0 --archive tide-table.zip",
      ],
      [
        "Have the hub fetch it",
        "$0 marketplace publish tide-table --version 1.4.0 --import --repo acme/tide-table@v1.4.0",
      ],
    ],
  });

  slug = Option.String({ name: "SLUG", required: true });
  kind = Option.String("--kind", { description: "plugin or service (default: plugin)" });
  version = Option.String("--version", { description: "Version label of this release" });
  archive = Option.String("--archive", { description: "The ZIP to publish" });
  import = Option.Boolean("--import", { description: "Have the hub fetch the archive of --repo" });
  repo = Option.String("--repo", { description: "Where it comes from: owner/repo@tag" });
  host = Option.String("--host", { description: "Source host of --import (default: the hub's first one)" });
  signingSecret = Option.String("--signing-secret", {
    description: "Your signing secret; safer as [SEALIFT_SIGNING_SECRET] or --signing-secret-file",
  });
  signingSecretFile = Option.String("--signing-secret-file", {
    description: "File with the signing secret; - is standard input",
  });
  visibility = Option.String("--visibility", {
    description: "public or private (default: as it is; private for a new one)",
  });

  override async run(settings: Settings): Promise<number> {
    const [{ MarketplaceClient }, { slug, versionLabel }, { repoReference }] = await Promise.all([
      import("../../lib/client/marketplace-client.ts"),
      import("../../lib/contract/identifiers.ts"),
      import("../../lib/contract/surfaces/marketplace.ts"),
    ]);
    const check = (
      schema: { safeParse(value: unknown): { success: boolean; error?: { issues: { message: string }[] } } },
      value: string,
      name: string,
    ): string => {
      const parsed = schema.safeParse(value);
      if (!parsed.success) throw usageError("usage", `${name} ${parsed.error!.issues[0]!.message}.`);
      return value;
    };
    const target = check(slug, this.slug, "SLUG");
    const version = check(versionLabel, settings.required("version"), "--version");
    const repo = settings.text("repo");
    if (repo !== undefined) check(repoReference, repo, "--repo");
    const visibility =
      settings.text("visibility") === undefined
        ? undefined
        : settings.choice("visibility", ["public", "private"], "private");
    if ((this.archive !== undefined) === (this.import === true))
      throw usageError("usage", "Give either --archive FILE.zip or --import.");
    using interrupt = interruptible();
    const client = new MarketplaceClient(kindOf(settings), target, {
      ...hubConnection(settings, MARKETPLACE_TIMEOUT_MS),
      signal: interrupt.signal,
    });
    const common = { version, ...(visibility !== undefined && { visibility }) };
    let record;
    if (this.archive === undefined) {
      if (repo === undefined) throw usageError("usage", "--import needs --repo owner/repo@tag.");
      record = await client.import({ ...common, repo, ...(this.host !== undefined && { host: this.host }) });
    } else {
      const { signArchive } = await import("../../lib/artifact/signatures/archive-hmac.ts");
      const signature = await signArchive(this.archive, settings.requiredSecret("signing-secret"), interrupt.signal);
      record = await client.publish({ ...common, signature, ...(repo !== undefined && { repo }) }, this.archive);
    }
    if (this.json) return this.done({ release: record });
    this.output.line(
      `published ${target} ${record.version} (${record.size_bytes} bytes, sha256 ${record.sha256.slice(0, 16)}…)`,
    );
    return 0;
  }
}

export class MarketplaceYank extends HubCommand {
  static override paths = [["marketplace", "yank"]];
  static override usage = Command.Usage({
    category: "Publishing",
    description: "Take a version out of `latest`, or back in",
    examples: [
      ["Yank", "$0 marketplace yank tide-table 1.4.0 --reason 'wrong tides'"],
      ["Undo it", "$0 marketplace yank tide-table 1.4.0 --undo"],
    ],
  });

  slug = Option.String({ name: "SLUG", required: true });
  version = Option.String({ name: "VERSION", required: true });
  kind = Option.String("--kind", { description: "plugin or service (default: plugin)" });
  reason = Option.String("--reason", { description: "Why, for whoever runs it" });
  undo = Option.Boolean("--undo", false, { description: "Let the version be latest again" });

  override async run(settings: Settings): Promise<number> {
    const { MarketplaceClient } = await import("../../lib/client/marketplace-client.ts");
    const client = new MarketplaceClient(kindOf(settings), this.slug, hubConnection(settings, MARKETPLACE_TIMEOUT_MS));
    await client.yank(this.version, !this.undo, this.reason);
    this.note(`${this.slug} ${this.version} is ${this.undo ? "no longer yanked" : "yanked"}.`);
    return this.done({ slug: this.slug, version: this.version, is_yanked: !this.undo });
  }
}

export class MarketplaceSearch extends HubCommand {
  static override paths = [["marketplace", "search"]];
  static override usage = Command.Usage({
    category: "Publishing",
    description: "Find plugins or services by name, slug or description",
    examples: [["Find plugins", "$0 marketplace search tide"]],
  });

  text = Option.String({ name: "TEXT", required: true });
  kind = Option.String("--kind", { description: "plugin or service (default: plugin)" });

  override async run(settings: Settings): Promise<number> {
    const { searchTargets } = await import("../../lib/client/marketplace-client.ts");
    let count = 0;
    for await (const target of searchTargets(
      kindOf(settings),
      this.text,
      hubConnection(settings, MARKETPLACE_TIMEOUT_MS),
    )) {
      count++;
      if (this.json) this.output.event({ event: "target", ...target });
      else
        this.output.line(
          `${target.slug.padEnd(32)} ${(target.latest_version || "–").padEnd(16)} ${target.visibility.padEnd(8)} ${target.description ?? target.name}`,
        );
    }
    if (count === 0) this.note("Nothing found.");
    return this.done({ count });
  }
}
