import { Command } from "clipanion";
import type { Labels } from "../../lib/contract/labels.ts";
import { labelsText } from "../../lib/contract/labels.ts";
import type { HostState } from "../../lib/fleet/host-states.ts";
import { settingsShow } from "../../lib/options/settings.ts";
import { printable } from "../../lib/support/printable.ts";
import { withOptions } from "../shell/base.ts";
import { showList } from "../shell/output/listing.ts";
import type { OpenedFleet } from "./fleet.ts";

const WORDS: Record<HostState["state"], string> = {
  applied: "applied",
  failed: "failed, as it was before",
  not_back: "failed, and not back",
  waits: "not heard yet",
  none: "none yet",
  absent: "not at the hub",
  new: "new: apply takes it in",
  unaccepted: "no invite: accept its line",
  cardless: "has sent no key",
  removed: "removed for good",
  refused: "refused",
};

export class SettingsShow extends withOptions(settingsShow) {
  static override paths = [["settings", "show"]];
  static override usage = Command.Usage({
    category: "Settings",
    description: "Show which hosts have which settings, and which have none",
    details: `
      Compares \`fleet.lock\` with the hub: the number of each host's settings, and what the host has signed of them. A
      host that nobody has taken in yet, or in whose place another key stands, is named. Labels are those of the
      invites; where those of the hub differ, both are shown.
    `,
    examples: [["Who has what", "$0 settings show"]],
  });
  static override listed = () =>
    ["host_id", "state", "code", "number", "said", "labels", "hub_labels", "fingerprint", "ignored"] as const;

  override async run(): Promise<number> {
    const { fleet: file, operatorKey } = this.options;
    const [{ judgedAt, openFleet }, { hostStatesOf }] = await Promise.all([
      import("./fleet.ts"),
      import("../../lib/fleet/host-states.ts"),
    ]);
    const opened = await openFleet(this.options, file);
    const operator = operatorKey === undefined ? opened.roll.operator : await publicKeyIn(operatorKey);
    // Without an operator no invite counts.
    const judged = await judgedAt(opened, operator ?? "");
    const states = hostStatesOf(judged, opened.roll, await hubLabels(opened));
    const code = await showList(this.surroundings(), {
      event: "host",
      rows: states,
      columns: {
        HOST: ({ host_id: host }) => host,
        NUMBER: ({ number }) => (number === null || number === 0 ? "" : String(number)),
        STATE: ({ state, code: why }) => `${WORDS[state]}${why === null ? "" : ` (${why})`}`,
        LABELS: ({ labels }) => labelsText(labels),
      },
      none: "No host is in fleet.lock or at the hub.",
    });
    for (const { host_id: host, hub_labels: theirs, ignored } of states) {
      if (theirs !== null) this.#line(`${host} has other labels at the hub: ${labelsText(theirs) || "none"}.`);
      for (const { name, code: why } of ignored) this.#line(`${host} does not use ${name} (${why}).`);
    }
    for (const one of judged)
      if (one.state === "refused") this.#line(`warning: ${one.error.message} ${one.error.hint ?? ""}`);
    return code;
  }

  /** Prints one line for people: hosts and hub have written parts of it. */
  #line(text: string): void {
    this.note(printable(text));
  }
}

async function publicKeyIn(file: string): Promise<string> {
  const [{ operatorSeedIn }, { publicKeyOf }] = await Promise.all([
    import("./operator-key.ts"),
    import("../../lib/artifact/signatures/ed25519.ts"),
  ]);
  return Buffer.from(publicKeyOf(await operatorSeedIn(file))).toString("hex");
}

/** Returns the labels of hosts that the hub has heard of; none where the key may not list them. */
async function hubLabels({ hub, id }: OpenedFleet): Promise<Map<string, Labels>> {
  const { projectHosts } = await import("../../lib/client/joining.ts");
  const found = new Map<string, Labels>();
  try {
    for await (const { host_id: host, labels, heard_at: heardAt } of projectHosts(hub, id).listJoined())
      if (heardAt !== null) found.set(host, labels);
  } catch (error) {
    if ((error as { status?: number }).status !== 403 && (error as { status?: number }).status !== 404) throw error;
  }
  return found;
}
