import { Command } from "clipanion";
import { withOptions } from "../shell/base.ts";

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
