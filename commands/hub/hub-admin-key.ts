import { Command } from "clipanion";
import { hubStorage } from "../../lib/options/hub.ts";
import { withOptions } from "../shell/base.ts";
import { databaseOf } from "./storage.ts";

const { dataDir, databaseUrl } = hubStorage;

export class HubAdminKey extends withOptions({ dataDir, databaseUrl }) {
  static override paths = [["hub", "admin-key"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Replace a hub's administrator key",
    details: `
      Writes a new key to admin.key in the data folder (0600), for when the old one is lost or known to somebody. The
      old key and its sessions stop working at once, also on the other hubs of the database; keys that it has created go
      on working.
    `,
    examples: [["Replace it", "$0 hub admin-key --data-dir /var/lib/sealift-hub"]],
  });

  override async run(): Promise<number> {
    const { renewAdminKeyOf } = await import("../../lib/hub/keys/admin-key.ts");
    const path = await renewAdminKeyOf(await databaseOf(this.options));
    if (this.json) return this.done({ path });
    this.note("The old administrator's key does not work any more.");
    this.print.line(path);
    return 0;
  }
}
