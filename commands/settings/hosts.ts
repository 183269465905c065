import { Command, Option } from "clipanion";
import { labelsText } from "../../lib/contract/labels.ts";
import { settingsAccept, settingsRemove } from "../../lib/options/settings.ts";
import { withOptions } from "../shell/base.ts";

export class SettingsAccept extends withOptions(settingsAccept) {
  static override paths = [["settings", "accept"]];
  static override usage = Command.Usage({
    category: "Settings",
    description: "Take a host into fleet.lock by the line that it prints",
    details: `
      \`sealift host key\` prints the line on the host. Bring it by another way than the hub, such as SSH: whoever has
      the key of this line reads the settings of the host. For hosts that joined before there was an operator, were set
      up anew, or were renamed.
    `,
    examples: [["A host of before", "$0 settings accept pier-7 shk1.… --label env=prod"]],
  });

  host = Option.String({ name: "HOST", required: true });
  line = Option.String({ name: "LINE", required: true });

  override async run(): Promise<number> {
    const { fleet: file, labels: given, dryRun } = this.options;
    const [{ openFleet }, { acceptHost }, { hostId }, { usageError }] = await Promise.all([
      import("./fleet.ts"),
      import("../../lib/fleet/accepting.ts"),
      import("../../lib/contract/identifiers.ts"),
      import("../../lib/contract/errors.ts"),
    ]);
    if (!hostId.safeParse(this.host).success)
      throw usageError("usage", `${JSON.stringify(this.host)} is not a name of a host.`);
    const { roll } = await openFleet(this.options, file);
    const labels = given.length === 0 ? undefined : Object.fromEntries(given);
    const { host, replaced, renamedFrom } = acceptHost(roll, this.host, this.line, labels);
    if (!dryRun) await roll.save();
    const shown = labelsText(host.labels);
    this.note(
      `${dryRun ? "would accept" : "Accepted"} ${host.name}${shown === "" ? "" : ` (${shown})`}: ${host.fingerprint}`,
    );
    if (renamedFrom !== undefined) this.note(`Its key was that of ${renamedFrom}.`);
    if (replaced !== undefined) this.note(`Its former key ${replaced.fingerprint} counts no more, for good.`);
    this.note("Next: sealift settings apply");
    return this.done({
      ...{ host_id: host.name, fingerprint: host.fingerprint, labels: host.labels, dry_run: dryRun },
      ...{ replaced: replaced?.fingerprint ?? null, former_host_id: renamedFrom ?? null },
    });
  }
}

export class SettingsRemove extends withOptions(settingsRemove) {
  static override paths = [["settings", "remove"]];
  static override usage = Command.Usage({
    category: "Settings",
    description: "Remove a host from the settings, for good",
    details: `
      Marks its key in \`fleet.lock\`: no hub brings it back. Lets the hub forget its card and its settings, and names
      the settings that it had. Whoever has the machine has read them: change them at their source, and apply.
      \`sealift host remove\` ends its API key.
    `,
    examples: [["A stolen machine", "$0 settings remove pier-7"]],
  });

  host = Option.String({ name: "HOST", required: true });

  override async run(): Promise<number> {
    const { fleet: file, dryRun } = this.options;
    const [{ openFleet }, { enrolledAs }, { ifFound }] = await Promise.all([
      import("./fleet.ts"),
      import("../../lib/fleet/accepting.ts"),
      import("../../lib/client/answers.ts"),
    ]);
    const { roll, client } = await openFleet(this.options, file);
    const host = enrolledAs(roll, this.host);
    const settings = Object.entries(roll.contentOf(host))
      .flatMap(([app, names]) => Object.keys(names).map((name) => `${app}.${name}`))
      .toSorted();
    if (!dryRun) {
      roll.remove(host);
      await roll.save();
      // The hub may have forgotten it before.
      await ifFound(client.drop(host.name));
    }
    this.note(`${dryRun ? "would remove" : "Removed"} ${host.name}: ${host.fingerprint}`);
    if (settings.length > 0) {
      this.note("Whoever has the machine has read these. Change them, and apply:");
      if (!this.json) for (const name of settings) this.print.line(name);
    }
    return this.done({ host_id: host.name, fingerprint: host.fingerprint, settings, dry_run: dryRun });
  }
}
