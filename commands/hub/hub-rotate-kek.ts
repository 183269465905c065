import { Command } from "clipanion";
import { hubRotateKek } from "../../lib/options/hub.ts";
import { withOptions } from "../shell/base.ts";
import { storageOf } from "./storage.ts";

export class HubRotateKek extends withOptions(hubRotateKek) {
  static override paths = [["hub", "rotate-kek"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Give a hub a new key-encryption key and seal every stored key anew",
    details: `
      Works on the hub's own storage, beside the running hub, with the options that the hub was started with. In
      a KEK file it adds the new key, and drops those that no record names any more. Keys from a command or a
      credential stay as they are: everything is sealed under the newest of them, and the result names those
      that may be removed there. Back the keys up afterwards.
    `,
    examples: [["Rotate", "$0 hub rotate-kek --data-dir /var/lib/sealift-hub"]],
  });

  override async run(): Promise<number> {
    const { dryRun } = this.options;
    const { rotateKek } = await import("../../lib/hub/keys/rotate-kek.ts");
    const { kekId, rewrapped, dropped } = await rotateKek({ ...(await storageOf(this.options)), dryRun });
    if (this.json) return this.done({ kek_id: kekId ?? null, rewrapped, dropped, dry_run: dryRun });
    const [seal, drop] = dryRun ? ["would seal", "would drop"] : ["Sealed", "dropped"];
    this.note(`${seal} ${rewrapped} keys anew; ${drop} ${dropped.length} old key-encryption keys.`);
    if (kekId !== undefined) this.print.line(kekId);
    return 0;
  }
}
