import { Command } from "clipanion";
import { kitKey } from "../../lib/options/kits.ts";
import { withOptions } from "../shell/base.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";

export class KitKey extends withOptions(kitKey) {
  static override paths = [["kit", "key"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Show the key with which the hub signs kits",
    details: `
      Hosts that have a policy name it under \`hub_keys\`: what the hub says of a version counts on a stick by this key
      alone. The hub keeps it for good, also when it is restored or moved to another database.
    `,
    examples: [["For hub_keys of policy.yaml", "$0 kit key"]],
  });

  override async run(): Promise<number> {
    const [{ callsOf }, { showKitKey }] = await Promise.all([
      import("../../lib/client/calls.ts"),
      import("../../lib/contract/kits/routes.ts"),
    ]);
    const hub = hubConnection(this.options, DEPLOY_TIMEOUT_MS);
    const { hub_key } = await callsOf({ showKitKey }, hub).showKitKey();
    if (!this.json) this.print.line(hub_key);
    return this.done({ hub_key });
  }
}
