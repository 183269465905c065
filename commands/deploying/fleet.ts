import { Command, Option } from "clipanion";
import type { FleetHost } from "../../lib/client/fleet.ts";
import { EXIT } from "../../lib/contract/codes.ts";
import { usageError } from "../../lib/contract/errors.ts";
import { isHeld, runningVersion } from "../../lib/contract/surfaces/host-record.ts";
import { parseTarget } from "../../lib/contract/target.ts";
import { shownVersion, triedVersion, troubleOf } from "../../lib/models/fleet.ts";
import { connection } from "../../lib/options/connection.ts";
import { fleet } from "../../lib/options/watch.ts";
import { printable } from "../../lib/support/printable.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { hubConnection, MARKETPLACE_TIMEOUT_MS } from "../shell/connection.ts";
import { loadForProduction, terminalOf } from "../shell/output/terminal.ts";

export class Fleet extends withOptions({ ...fleet, ...connection }) {
  static override paths = [["fleet"]];
  static override listed = () => [
    ...["target", "host_id", "version", "status", "running_version", "completed_at", "error_message"],
  ];
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Show who runs what",
    details: `
      Targets are \`plugin:SLUG\`, \`service:SLUG\` or \`project:ID\`. On a terminal the fleet is shown live: versions
      as bars, failing hosts first, with
      search and filter (\`?\` lists the keys). Elsewhere, and with \`--no-tui\`, hosts are rows of a table as they
      arrive, so that a fleet may be as
      large as it likes; the versions are summed up at the end. With \`--json\` each host is a line and the result
      carries the cursor for
      \`--since\`.
    `,
    examples: [
      ["A plugin's hosts", "$0 fleet plugin:tide-table"],
      ["Only what has changed", "$0 fleet project:prj_… --since 1042 --json"],
    ],
  });

  targets = Option.Rest({ name: "TARGET", required: 1 });
  override async run(): Promise<number> {
    const { since, tui, screenReader } = this.options;
    const targets = this.targets.map(parseTarget);
    if (since !== undefined && targets.length > 1)
      throw usageError("usage", "--since goes with one target: each has a cursor of its own.");
    const hub = hubConnection(this.options, MARKETPLACE_TIMEOUT_MS);
    // Rows of a table are what a screen reader can read.
    const terminal = terminalOf(this.context);
    if (terminal !== undefined && !this.json && since === undefined && tui && !screenReader) {
      const { fleetDashboard } = await loadForProduction(() => import("../shell/output/fleet-dashboard.ts"));
      await fleetDashboard(targets, hub, { ...terminal, screenReader: false });
      return EXIT.done;
    }
    const { readFleet } = await import("../../lib/client/fleet.ts");
    using interrupt = interruptible();
    const connection = { ...hub, signal: interrupt.signal };
    const summaries: Record<string, unknown>[] = [];
    for (const target of targets) {
      const name = `${target.kind}:${target.slug}`;
      const view = await readFleet(target, connection, since === undefined ? {} : { cursor: since });
      const versions = new Map<string, number>();
      let hosts = 0;
      let failing = 0;
      if (!this.json && targets.length > 1) this.print.line(name);
      for await (const host of view.hosts) {
        hosts++;
        const running = shownVersion(host);
        const known = runningVersion(host);
        versions.set(running, (versions.get(running) ?? 0) + 1);
        if (host.status !== "success") failing++;
        if (this.json)
          this.print.event({
            event: "host",
            target: name,
            // Fields of a record that a hub may leave out; JSON leaves out what is undefined.
            ...{ completed_at: undefined, error_message: undefined },
            ...host,
            running_version: known,
          });
        else this.print.line(rowOf(host));
      }
      summaries.push({
        target: name,
        hosts,
        failing,
        versions: Object.fromEntries(versions),
        cursor: view.mark.cursor ?? null,
      });
      this.note(
        `${hosts} host${hosts === 1 ? "" : "s"}, ${failing} failing${[...versions].map(([version, count]) => `, ${version} on ${count}`).join("")}`,
      );
    }
    return this.done({ fleets: summaries });
  }
}

/** One line, whatever a host has put into its report. */
function rowOf(host: FleetHost): string {
  const { host_id: id, status, completed_at: time, error_message: error = null } = host;
  const held = isHeld(host);
  const why = troubleOf({ tried: triedVersion(host), error, held });
  const words = `${id.padEnd(32)} ${shownVersion(host).padEnd(20)} ${(held ? "held" : status).padEnd(11)} ${(time ?? "").slice(0, 19).padEnd(19)} ${why}`;
  return printable(words).trimEnd();
}
