import { Command, Option } from "clipanion";
import type { Settings } from "../../lib/support/settings.ts";
import { SealiftCommand } from "../shell/base.ts";
import { storageOf } from "./hub-serve.ts";

export class HubRotateKek extends SealiftCommand {
  static override paths = [["hub", "rotate-kek"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Give a hub a new key-encryption key and seal every stored key anew",
    details: `
      Works on the hub's own storage, beside the running hub, with the options that the hub was started with. Keys that no record names
      any more are dropped from the KEK file. Back the file up afterwards.
    `,
    examples: [["Rotate", "$0 hub rotate-kek --data-dir /var/lib/sealift-hub"]],
  });

  dataDir = Option.String("--data-dir", { description: "The hub's data folder (./sealift-hub)" });
  databaseUrl = Option.String("--database-url", {
    description: "The hub's database, when it is not in the data folder",
  });
  kekFile = Option.String("--kek-file", { description: "The hub's KEK file, when it is not in the data folder" });

  override async run(settings: Settings): Promise<number> {
    const { rotateKek } = await import("../../lib/hub/keys/rotate-kek.ts");
    const { kekId, rewrapped, dropped } = await rotateKek(storageOf(settings));
    if (this.json) return this.done({ kek_id: kekId, rewrapped, dropped });
    this.note(`Sealed ${rewrapped} keys anew; dropped ${dropped.length} old key-encryption keys.`);
    this.output.line(kekId);
    return 0;
  }
}
