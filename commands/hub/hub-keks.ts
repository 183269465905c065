import { Command } from "clipanion";
import { hubRotateKek } from "../../lib/options/hub.ts";
import { counted } from "../../lib/support/counted.ts";
import { withOptions } from "../shell/base.ts";
import { storageOf } from "./storage.ts";

export class HubCreateKek extends withOptions({}) {
  static override paths = [["hub", "create-kek"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Print a new key-encryption key, for hubs that share one",
    details: `
      Prints what a KEK file holds. Keep it in a key management service or a vault and give every hub the same with
      --kek-command, as a systemd credential called kek, or as a file (0600) with --kek-file.
    `,
    examples: [["For a file", "$0 hub create-kek > kek.json"]],
  });

  override async run(): Promise<number> {
    const { formatKeks, newKek } = await import("../../lib/hub/keys/kek-file.ts");
    // Data, with --json too: a result event would make it another file.
    this.context.stdout.write(formatKeks([newKek(Date.now())]));
    return 0;
  }
}

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
    this.note(
      `${seal} ${counted(rewrapped, "key")} anew; ${drop} ${counted(dropped.length, "old key-encryption key")}.`,
    );
    if (kekId !== undefined) this.print.line(kekId);
    return 0;
  }
}
