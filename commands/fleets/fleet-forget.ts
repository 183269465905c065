import { Command, Option } from "clipanion";
import type { HubConnection } from "../../lib/client/hub-connection.ts";
import { deploymentError, usageError } from "../../lib/contract/errors.ts";
import { isStale } from "../../lib/contract/surfaces/host-record.ts";
import type { Target } from "../../lib/contract/target.ts";
import { connection } from "../../lib/options/connection.ts";
import { fleetForget } from "../../lib/options/watch.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { hubConnection, MARKETPLACE_TIMEOUT_MS } from "../shell/connection.ts";

export class FleetForget extends withOptions({ ...fleetForget, ...connection }) {
  static override paths = [["fleet", "forget"]];
  static override usage = Command.Usage({
    category: "Hosts",
    description: "Take hosts that are gone out of a fleet",
    details: `
      Removes hosts from what \`sealift fleet\` shows and \`sealift fleet wait\` counts. A host that reports again is
      back; its earlier reports stay in the hub's log. The key needs the scope \`projects\`.
    `,
    examples: [
      ["A host that was given away", "$0 fleet forget plugin:tide-table web-3"],
      ["Look first", "$0 fleet forget project:prj_… --stale 90d --dry-run"],
    ],
  });

  target = Option.String({ name: "TARGET", required: true });
  hosts = Option.Rest({ name: "HOST" });

  override async run(): Promise<number> {
    const { silentMs, dryRun } = this.options;
    if ((this.hosts.length === 0) === (silentMs === undefined))
      throw usageError("usage", "Name the hosts to forget, or give --stale.", {
        hint: `\`sealift fleet ${this.target}\` shows the hosts.`,
      });
    using interrupt = interruptible();
    const hub = { ...hubConnection(this.options, MARKETPLACE_TIMEOUT_MS), signal: interrupt.signal };
    const { targetCalled } = await import("../../lib/client/lookup.ts");
    const target = await targetCalled(hub, this.target);
    const due = dryRun || silentMs !== undefined ? await this.#due(target, hub, silentMs) : this.hosts;
    const forgotten: string[] = [];
    const { forgetHost } = await import("../../lib/client/fleet.ts");
    for (const host of due) {
      if (!dryRun && !(await forgetHost(target, host, hub))) continue;
      forgotten.push(host);
      if (this.json) this.print.event({ event: dryRun ? "due" : "forgotten", target: this.target, host_id: host });
      else this.print.line(`${dryRun ? "would forget" : "forgot"} ${host}`);
    }
    const missing = this.hosts.filter((host) => !forgotten.includes(host));
    if (missing.length > 0)
      throw deploymentError("not_found", `The fleet of ${this.target} has no ${missing.join(", ")}.`, {
        hint: `\`sealift fleet ${this.target}\` shows the hosts.`,
      });
    if (due.length === 0) this.note("No host was silent for so long.");
    return this.done({ target: this.target, hosts: forgotten.length, dry_run: dryRun });
  }

  /** Finds the hosts that are named, or that were silent for a time. */
  async #due(target: Target, hub: HubConnection, silentMs: number | undefined): Promise<string[]> {
    const { readFleet } = await import("../../lib/client/fleet.ts");
    const { hosts } = await readFleet(target, hub);
    const named = new Set(this.hosts);
    const due: string[] = [];
    const now = Date.now();
    for await (const host of hosts)
      if (silentMs === undefined ? named.has(host.host_id) : isStale(host, silentMs, now)) due.push(host.host_id);
    return due;
  }
}
