import { Command, Option } from "clipanion";
import type { FleetHost, FleetMark, FleetView, HostFilter } from "../../lib/client/fleet.ts";
import type { HubConnection } from "../../lib/client/hub-connection.ts";
import { originText, VersionOrigins } from "../../lib/client/version-origins.ts";
import { EXIT } from "../../lib/contract/codes.ts";
import { usageError } from "../../lib/contract/errors.ts";
import { APPLICATION_FIELDS } from "../../lib/contract/facts/host-applications.ts";
import { namesIn } from "../../lib/contract/facts/host-shown.ts";
import {
  isFailing,
  isStale,
  isWaiting,
  runningVersion,
  shownVersion,
  unhealthySince,
} from "../../lib/contract/surfaces/host-record.ts";
import { parseTarget, type Target, targetText } from "../../lib/contract/target.ts";
import { connection } from "../../lib/options/connection.ts";
import { fleet } from "../../lib/options/watch.ts";
import { counted } from "../../lib/support/counted.ts";
import { naturally } from "../../lib/support/natural-order.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { hubConnection, MARKETPLACE_TIMEOUT_MS } from "../shell/connection.ts";
import { loadForProduction, terminalOf } from "../shell/output/terminal.ts";
import { hostLine } from "./host-line.ts";
import { RootCounts } from "./root-counts.ts";
import { SettingsCounts } from "./settings-counts.ts";

/** Fleet to show, with its display name. */
interface Named {
  target: Target;
  title: string;
}

/** Most versions in the summary; a fleet may run thousands. */
const SUMMED = 5;

export class Fleet extends withOptions({ ...fleet, ...connection }) {
  static override paths = [["fleet"]];
  static override listed = (options: object = {}) =>
    "apps" in options && options.apps === true
      ? ["target", ...APPLICATION_FIELDS]
      : ["target", ...namesIn("csv"), "published_by", "approved_by", "statements"];
  static override usage = Command.Usage({
    category: "Hosts",
    description: "Show who runs what",
    details: `
      A target is \`plugin:SLUG\`, \`service:SLUG\`, \`project:ID\`, or one of your own by its name; without one, every
      fleet that the key may see. On a terminal fleets are shown live (\`?\` lists the keys); elsewhere, with
      \`--no-tui\` and with a filter, hosts are rows as they arrive, those first that need somebody, and a sum ends
      them: a fleet may be as large as it likes. With \`--json\` they come in the order of their names. A host that has
      neither reported nor asked for the latest version for \`--stale\` is listed as stale and not counted; \`sealift
      fleet forget\` removes it. With \`--json\` the result carries the cursor for \`--since\`. Keys of the
      target's owner also learn who published and who approved what runs, and which statements it has.
    `,
    examples: [
      ["Every fleet", "$0 fleet"],
      ["A plugin's hosts, as lines", "$0 fleet plugin:tide-table --no-tui"],
      ["Canaries that failed", "$0 fleet plugin:tide-table --state failed --label role=canary"],
      ["Hosts that are late with the trust root", "$0 fleet harbour --root-below 3"],
      ["Each application on each host", "$0 fleet harbour --apps"],
      ["Hosts that have no settings yet", "$0 fleet harbour --settings none"],
      ["Only what has changed", "$0 fleet project:prj_… --since 1042 --json"],
    ],
  });

  targets = Option.Rest({ name: "TARGET" });

  override async run(): Promise<number> {
    const { since, apps, tui, screenReader, staleMs } = this.options;
    if (since !== undefined && this.targets.length !== 1)
      throw usageError("usage", "--since goes with one target: each has a cursor of its own.");
    const isFiltered = Object.keys(this.#filter).length > 0;
    if (since !== undefined && isFiltered)
      throw usageError(
        "usage",
        "--since tells of every host that changed: it goes without --state, --label, --root-below, --settings and --app.",
      );
    using interrupt = interruptible();
    const hub = { ...hubConnection(this.options, MARKETPLACE_TIMEOUT_MS), signal: interrupt.signal };
    const { targetCalled } = await import("../../lib/client/lookup.ts");
    const given = await Promise.all(this.targets.map((text) => targetCalled(hub, text)));
    const fleets = given.length > 0 ? await Promise.all(given.map((target) => titled(target, hub))) : await named(hub);
    if (fleets.length === 0) {
      this.note("No fleet yet: hosts appear with their first report.");
      return this.done({ fleets: [] });
    }
    // Screen readers get rows of a table.
    const terminal = terminalOf(this.context);
    if (terminal !== undefined && !this.json && since === undefined && !isFiltered && !apps && tui && !screenReader) {
      const { fleetDashboard } = await loadForProduction(() => import("../shell/output/fleet-dashboard.ts"));
      await fleetDashboard(fleets, hub, staleMs, { ...terminal, screenReader: false });
      return EXIT.done;
    }
    const summaries: Record<string, unknown>[] = [];
    for (const each of fleets) {
      if (!this.json && fleets.length > 1) this.print.line(each.title);
      summaries.push(await (apps ? this.#showApps(each.target, hub) : this.#show(each.target, hub)));
    }
    return this.done({ fleets: summaries });
  }

  /** Filter of the hosts; empty for all. */
  get #filter(): HostFilter {
    const { state, withLabel: label, rootBelow, withSettings: settings, withApp: app } = this.options;
    return {
      ...(state !== undefined && { state }),
      ...(label !== undefined && { label }),
      ...(rootBelow !== undefined && { rootBelow }),
      ...(settings !== undefined && { settings }),
      ...(app !== undefined && { app }),
    };
  }

  /** Reads every host once, in the order of ids, for programs; a list by state for people, and with a filter. */
  async #read(target: Target, hub: HubConnection): Promise<ShownHosts> {
    const { since } = this.options;
    const { listHosts, readFleet } = await import("../../lib/client/fleet.ts");
    if (since !== undefined) return readFleet(target, hub, { cursor: since });
    const filter = this.#filter;
    if (this.json && Object.keys(filter).length === 0) return readFleet(target, hub);
    return { hosts: listHosts(target, hub, filter), whole: true, mark: {} };
  }

  /** Prints the applications of a fleet. @returns its sum */
  async #showApps(target: Target, hub: HubConnection): Promise<Record<string, unknown>> {
    const { staleMs, withApp: only } = this.options;
    const { hosts } = await this.#read(target, hub);
    const { showApplications } = await import("./fleet-apps.ts");
    return showApplications(this.surroundings(), { target, hosts, staleMs, only });
  }

  /** Prints the hosts of a fleet. @returns its sum */
  async #show(target: Target, hub: HubConnection): Promise<Record<string, unknown>> {
    const { since, staleMs } = this.options;
    const view = await this.#read(target, hub);
    const origins = new VersionOrigins(target, hub);
    const versions = new Map<string, number>();
    const roots = new RootCounts();
    const settings = new SettingsCounts();
    const agents = new Map<string, number>();
    const sums = { hosts: 0, failing: 0, unhealthy: 0, waiting: 0, stale: 0 };
    const now = Date.now();
    for await (const { state, ...host } of this.json ? view.hosts : naturalOrder(view.hosts)) {
      const stale = isStale(host, staleMs, now);
      if (stale) sums.stale++;
      else {
        sums.hosts++;
        roots.note(host);
        settings.note(host);
        if (host.agent !== undefined) agents.set(host.agent, (agents.get(host.agent) ?? 0) + 1);
        const running = shownVersion(host);
        versions.set(running, (versions.get(running) ?? 0) + 1);
        if (isFailing(host)) sums.failing++;
        if (isWaiting(host)) sums.waiting++;
        if (unhealthySince(host) !== undefined) sums.unhealthy++;
      }
      if (this.json)
        this.print.event({
          event: "host",
          target: targetText(target),
          // Fields of a record that a hub may omit; JSON leaves out what is undefined.
          ...{ completed_at: undefined, error_message: undefined },
          ...host,
          running_version: runningVersion(host),
          ...(state !== undefined && { state }),
          stale,
          ...(await origins.of(runningVersion(host))),
        });
      else this.print.line(hostLine(host, stale));
    }
    this.note(sumOf(sums, versions));
    for (const line of [...roots.lines(), ...settings.lines(), ...agentLines(agents)]) this.note(line);
    if (!this.json) for (const line of await originLines(versions, origins)) this.note(line);
    return {
      ...{ target: targetText(target), ...sums, versions: Object.fromEntries(versions) },
      ...(roots.all.length > 0 && { roots: roots.all }),
      ...(settings.all !== undefined && { settings: settings.all }),
      ...(agents.size > 0 && { agents: Object.fromEntries(agents) }),
      // A reader of changes drops the hosts that a whole answer lacks.
      ...(since !== undefined && { whole: view.whole }),
      cursor: view.mark.cursor ?? null,
    };
  }
}

/** Most hosts held in memory for sorting. */
const ORDERED = 10_000;

/** Sorts hosts that arrive state by state by their names, and yields a large state in pieces. */
async function* naturalOrder(hosts: FleetView["hosts"]): AsyncGenerator<FleetHost> {
  let held: FleetHost[] = [];
  const ordered = (): FleetHost[] => held.toSorted((a, b) => naturally(a.host_id, b.host_id));
  for await (const host of hosts) {
    if (held.length === ORDERED || (held.length > 0 && held[0]!.state !== host.state)) {
      yield* ordered();
      held = [];
    }
    held.push(host);
  }
  yield* ordered();
}

/** Hosts to show, and the mark for a later `--since`. */
type ShownHosts = Pick<FleetView, "hosts" | "whole"> & { mark: FleetMark };

/** Finds every fleet that the key may see. */
async function named(hub: HubConnection): Promise<Named[]> {
  const { listFleets } = await import("../../lib/client/fleet.ts");
  const found: Named[] = [];
  for await (const { target, name } of listFleets(hub))
    found.push({ target: parseTarget(target), title: name === null ? target : `${name} (${target})` });
  return found;
}

/** Returns a fleet's display name: a project's is its name at the hub, if known. */
async function titled(target: Target, hub: HubConnection): Promise<Named> {
  const text = targetText(target);
  if (target.kind !== "project") return { target, title: text };
  const { DeployClient } = await import("../../lib/client/deploy-client.ts");
  const name = await new DeployClient(target.slug, hub).projectName().catch(() => undefined);
  return { target, title: name === undefined ? text : `${name} (${text})` };
}

/** Describes where the versions on most hosts come from, as far as the key may know. */
async function originLines(versions: ReadonlyMap<string, number>, origins: VersionOrigins): Promise<string[]> {
  const lines: string[] = [];
  for (const [version] of mostFirst(versions).slice(0, SUMMED)) {
    const origin = await origins.of(version);
    if (origin !== undefined) lines.push(`${version} was published by ${originText(origin)}`);
  }
  return lines;
}

/** Describes which versions of Sealift hosts run, where there are several. */
const agentLines = (agents: ReadonlyMap<string, number>): string[] =>
  agents.size < 2
    ? []
    : [
        `sealift: ${mostFirst(agents)
          .map(([agent, count]) => `${agent} on ${count}`)
          .join(", ")}`,
      ];

const mostFirst = (versions: ReadonlyMap<string, number>): [version: string, hosts: number][] =>
  [...versions].toSorted(([, a], [, b]) => b - a);

function sumOf(
  {
    hosts,
    failing,
    unhealthy,
    waiting,
    stale,
  }: Record<"hosts" | "failing" | "unhealthy" | "waiting" | "stale", number>,
  versions: ReadonlyMap<string, number>,
): string {
  const most = mostFirst(versions);
  const others = most.slice(SUMMED);
  return [
    `${counted(hosts, "host")}, ${failing} failing`,
    ...(unhealthy === 0 ? [] : [`${unhealthy} unhealthy`]),
    ...(waiting === 0 ? [] : [`${waiting} waiting`]),
    ...(stale === 0 ? [] : [`${stale} stale`]),
    ...most.slice(0, SUMMED).map(([version, count]) => `${version} on ${count}`),
    ...(others.length === 0
      ? []
      : [`${others.length} other versions on ${others.reduce((sum, [, count]) => sum + count, 0)}`]),
  ].join(", ");
}
