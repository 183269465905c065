import { Command, Option } from "clipanion";
import { connection } from "../../lib/options/connection.ts";
import { keyCreation } from "../../lib/options/devkeys.ts";
import { withOptions } from "../shell/base.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";

export class KeysCreate extends withOptions(keyCreation) {
  static override paths = [
    ["key", "create"],
    ["keys", "create"],
  ];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Create an API key",
    details: `
      The key and, for a key of one project, its deployment credential are shown once. Without \`--scope\` a key may deploy, report and
      read, which is what a host needs.
    `,
    examples: [
      ["A key for the hosts of a project", "$0 key create --name hosts --project prj_…"],
      [
        "A key for CI that may only publish, for 90 days",
        "$0 key create --name ci --project prj_… --scope publish --expires 90d",
      ],
    ],
  });

  override async run(): Promise<number> {
    const { DevkeysClient } = await import("../../lib/client/devkeys-client.ts");
    const client = new DevkeysClient(hubConnection(this.options, DEPLOY_TIMEOUT_MS));
    const { name, project, scope: scopes, expires } = this.options;
    const key = await client.createKey({
      name,
      ...(project !== undefined && { project_id: project }),
      ...(scopes.length > 0 && { scopes: [...scopes] }),
      ...(expires !== undefined && { expires_at: expires.toISOString() }),
    });
    if (this.json) return this.done({ key });
    this.note(
      `Created the key ${key.name} (${key.id}) with the scopes ${key.scopes.join(", ")}. It is shown this once:`,
    );
    this.print.line(`SEALIFT_API_KEY=${key.key}`);
    if (key.deployment_credential !== undefined)
      this.print.line(`SEALIFT_DEPLOYMENT_CREDENTIAL=${key.deployment_credential}`);
    return 0;
  }
}

export class KeysList extends withOptions(connection) {
  static override paths = [
    ["key", "list"],
    ["keys", "list"],
  ];
  static override usage = Command.Usage({ category: "Hub", description: "List your API keys, without their secrets" });

  override async run(): Promise<number> {
    const { DevkeysClient } = await import("../../lib/client/devkeys-client.ts");
    const client = new DevkeysClient(hubConnection(this.options, DEPLOY_TIMEOUT_MS));
    let count = 0;
    for await (const key of client.listKeys()) {
      count++;
      if (this.json) {
        this.print.event({ event: "key", ...key });
        continue;
      }
      const state =
        key.revoked_at !== null
          ? "revoked"
          : key.expires_at !== null
            ? `until ${key.expires_at.slice(0, 10)}`
            : "no end";
      this.print.line(
        `${key.id.padEnd(26)} ${key.prefix.padEnd(12)} ${state.padEnd(17)} ${key.scopes.join(",").padEnd(24)} ${key.name}`,
      );
    }
    return this.done({ count });
  }
}

export class KeysRevoke extends withOptions(connection) {
  static override paths = [
    ["key", "revoke"],
    ["keys", "revoke"],
  ];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Revoke an API key and its deployment credential at once",
    examples: [["Revoke a key", "$0 key revoke key_…"]],
  });

  id = Option.String({ required: true, name: "ID" });

  override async run(): Promise<number> {
    const { DevkeysClient } = await import("../../lib/client/devkeys-client.ts");
    await new DevkeysClient(hubConnection(this.options, DEPLOY_TIMEOUT_MS)).revokeKey(this.id);
    this.note(`Revoked ${this.id}.`);
    return this.done({ id: this.id });
  }
}
