import { Command, Option } from "clipanion";
import type { MarketplaceKind } from "../../lib/contract/surfaces/paths.ts";
import { connection } from "../../lib/options/connection.ts";
import { removal } from "../../lib/options/devkeys.ts";
import { withOptions } from "../shell/base.ts";
import { showList, timeText } from "../shell/output/listing.ts";
import { type Managed, managed } from "./managed.ts";

const TARGET = { required: true, name: "TARGET" } as const;
const OWNER = { required: true, name: "OWNER" } as const;

/** The plugin or service that grants are of. @throws UsageError `usage` for a project, and as {@link Managed.called} */
async function grantable({ called }: Managed, text: string): Promise<{ kind: MarketplaceKind; slug: string }> {
  const { kind, slug } = await called(text);
  if (kind !== "project") return { kind, slug };
  const { usageError } = await import("../../lib/contract/errors.ts");
  throw usageError("usage", `${JSON.stringify(text)} is a project; grants are for plugins and services.`, {
    hint: "A key that is bound to the project opens it: sealift key create --project NAME",
  });
}

export class GrantList extends withOptions(connection) {
  static override paths = [["grant", "list"]];
  static override listed = () => ["owner", "created_at"];
  static override usage = Command.Usage({
    category: "Hub",
    description: "List the owners who may see a private plugin or service",
    examples: [["Who sees it", "$0 grant list tide-table"]],
  });

  target = Option.String(TARGET);

  override async run(): Promise<number> {
    const hub = await managed(this.options);
    const { kind, slug } = await grantable(hub, this.target);
    return showList(this.surroundings(), {
      event: "grant",
      rows: hub.client.listGrants(kind, slug),
      columns: { OWNER: ({ owner }) => owner, SINCE: ({ created_at: at }) => timeText(at) },
      none: "Nobody but its owner.",
    });
  }
}

export class GrantAdd extends withOptions(connection) {
  static override paths = [["grant", "add"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Let an owner's keys see a private plugin or service",
    examples: [["Let another team see it", "$0 grant add tide-table team-b"]],
  });

  target = Option.String(TARGET);
  owner = Option.String(OWNER);

  override async run(): Promise<number> {
    const hub = await managed(this.options);
    const { kind, slug } = await grantable(hub, this.target);
    const grant = await hub.client.addGrant(kind, slug, this.owner);
    this.note(`${grant.owner} may see ${kind}:${slug}.`);
    return this.done({ kind, slug, grant });
  }
}

export class GrantRemove extends withOptions(removal) {
  static override paths = [["grant", "remove"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Take a grant back",
    examples: [["Hide it again", "$0 grant remove tide-table team-b"]],
  });

  target = Option.String(TARGET);
  owner = Option.String(OWNER);

  override async run(): Promise<number> {
    const hub = await managed(this.options);
    const { kind, slug } = await grantable(hub, this.target);
    const { dryRun } = this.options;
    if (dryRun) await this.#find(hub, kind, slug);
    else await hub.client.removeGrant(kind, slug, this.owner);
    this.note(`${this.owner} ${dryRun ? "would no longer see" : "no longer sees"} ${kind}:${slug}.`);
    return this.done({ kind, slug, owner: this.owner, dry_run: dryRun });
  }

  async #find({ client }: Managed, kind: MarketplaceKind, slug: string): Promise<void> {
    for await (const { owner } of client.listGrants(kind, slug)) if (owner === this.owner) return;
    const { deploymentError } = await import("../../lib/contract/errors.ts");
    throw deploymentError("not_found", `${this.owner} has no grant of ${kind}:${slug}.`);
  }
}
