import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import type { Scope } from "../../lib/contract/surfaces/keys.ts";
import type { Settings } from "../../lib/support/settings.ts";
import { DEPLOY_TIMEOUT_MS, HubCommand, hubConnection } from "./hub-options.ts";

export class KeysCreate extends HubCommand {
  static override paths = [["keys", "create"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Create an API key",
    details: `
      The key and, for a key of one project, its deployment credential are shown once. Without \`--scope\` a key may deploy, report and
      read, which is what a host needs.
    `,
    examples: [
      ["A key for the hosts of a project", "$0 keys create --name hosts --project prj_…"],
      [
        "A key for CI that may only publish, for 90 days",
        "$0 keys create --name ci --project prj_… --scope publish --expires 90d",
      ],
    ],
  });

  name = Option.String("--name", { required: true, description: "What the key is for" });
  project = Option.String("--project", { description: "Bind the key to this project" });
  scope = Option.Array("--scope", {
    description: "A right of the key; may be repeated: admin, keys, projects, publish, deploy, report, read",
  });
  expires = Option.String("--expires", { description: "When the key ends: a span such as 90d, or an ISO 8601 time" });

  override async run(settings: Settings): Promise<number> {
    const [{ DevkeysClient }, { scope }] = await Promise.all([
      import("../../lib/client/devkeys-client.ts"),
      import("../../lib/contract/surfaces/keys.ts"),
    ]);
    const client = new DevkeysClient(hubConnection(settings, DEPLOY_TIMEOUT_MS));
    const scopes = this.scope?.flatMap((given) => given.split(","));
    const unknown = scopes?.filter((given) => !scope.safeParse(given).success) ?? [];
    if (unknown.length > 0)
      throw usageError("usage", `Unknown scope: ${unknown.join(", ")}.`, {
        hint: `Scopes are ${scope.options.join(", ")}.`,
      });
    const key = await client.createKey({
      name: this.name,
      ...(this.project !== undefined && { project_id: this.project }),
      ...(scopes !== undefined && { scopes: scopes as Scope[] }),
      ...(this.expires !== undefined && { expires_at: await expiry(this.expires) }),
    });
    if (this.json) return this.done({ key });
    this.note(
      `Created the key ${key.name} (${key.id}) with the scopes ${key.scopes.join(", ")}. It is shown this once:`,
    );
    this.output.line(`SEALIFT_API_KEY=${key.key}`);
    if (key.deployment_credential !== undefined)
      this.output.line(`SEALIFT_DEPLOYMENT_CREDENTIAL=${key.deployment_credential}`);
    return 0;
  }
}

async function expiry(text: string): Promise<string> {
  const { parseDuration } = await import("../../lib/support/settings.ts");
  if (/^\d{4}-/.test(text)) {
    const time = new Date(text);
    if (!Number.isNaN(time.getTime())) return time.toISOString();
  }
  return new Date(Date.now() + parseDuration(text, "--expires")).toISOString();
}

export class KeysList extends HubCommand {
  static override paths = [["keys", "list"]];
  static override usage = Command.Usage({ category: "Hub", description: "List your API keys, without their secrets" });

  override async run(settings: Settings): Promise<number> {
    const { DevkeysClient } = await import("../../lib/client/devkeys-client.ts");
    const client = new DevkeysClient(hubConnection(settings, DEPLOY_TIMEOUT_MS));
    let count = 0;
    for await (const key of client.listKeys()) {
      count++;
      if (this.json) {
        this.output.event({ event: "key", ...key });
        continue;
      }
      const state =
        key.revoked_at !== null
          ? "revoked"
          : key.expires_at !== null
            ? `until ${key.expires_at.slice(0, 10)}`
            : "no end";
      this.output.line(
        `${key.id.padEnd(26)} ${key.prefix.padEnd(12)} ${state.padEnd(17)} ${key.scopes.join(",").padEnd(24)} ${key.name}`,
      );
    }
    return this.done({ count });
  }
}

export class KeysRevoke extends HubCommand {
  static override paths = [["keys", "revoke"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Revoke an API key and its deployment credential at once",
    examples: [["Revoke a key", "$0 keys revoke key_…"]],
  });

  id = Option.String({ required: true, name: "ID" });

  override async run(settings: Settings): Promise<number> {
    const { DevkeysClient } = await import("../../lib/client/devkeys-client.ts");
    await new DevkeysClient(hubConnection(settings, DEPLOY_TIMEOUT_MS)).revokeKey(this.id);
    this.note(`Revoked ${this.id}.`);
    return this.done({ id: this.id });
  }
}
