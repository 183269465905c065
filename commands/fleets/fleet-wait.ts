import { setTimeout as sleep } from "node:timers/promises";
import { Command, Option } from "clipanion";
import type { FleetMark } from "../../lib/client/fleet.ts";
import type { HubConnection } from "../../lib/client/hub-connection.ts";
import { deploymentError } from "../../lib/contract/errors.ts";
import { isFailing, isStale, runningVersion, unhealthySince } from "../../lib/contract/surfaces/host-record.ts";
import type { Target } from "../../lib/contract/target.ts";
import { fleetWait } from "../../lib/options/watch.ts";
import { counted } from "../../lib/support/counted.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { hubConnection, MARKETPLACE_TIMEOUT_MS } from "../shell/connection.ts";

/** Counts of a target's live hosts: all of them, and those that run a version. */
interface Progress {
  hosts: number;
  running: number;
  failing: number;
  /** Hosts left out, since they were silent for too long. */
  stale: number;
}

/** Most hosts named among those left out. */
const NAMED = 20;

export class FleetWait extends withOptions(fleetWait) {
  static override paths = [["fleet", "wait"]];
  static override usage = Command.Usage({
    category: "Hosts",
    description: "Wait until the hosts of a target run a version",
    details: `
      For CI: ends with 0 as soon as enough of the hosts that report run the version, and with 75 when they have not
      within \`--timeout\`. Hosts on which it is unhealthy do not count. \`--min\` is a share such as 95%, or a number of hosts. Hosts that were silent for
      \`--stale\` do not count; the end names them.
    `,
    examples: [["After a release", "$0 fleet wait plugin:tide-table --version 1.4.0 --min 95% --timeout 30m"]],
  });

  target = Option.String({ name: "TARGET", required: true });

  override async run(): Promise<number> {
    const { version, min, withinMs, intervalMs, staleMs } = this.options;
    using interrupt = interruptible();
    const connection = {
      ...hubConnection({ ...this.options, timeoutMs: undefined }, MARKETPLACE_TIMEOUT_MS),
      signal: interrupt.signal,
    };
    const { targetCalled } = await import("../../lib/client/lookup.ts");
    const target = await targetCalled(connection, this.target);
    const end = performance.now() + withinMs;
    let mark: FleetMark = {};
    let seen: Progress = { hosts: 0, running: 0, failing: 0, stale: 0 };
    let leftOut: readonly string[] = [];
    for (;;) {
      const found = await progressOf(target, connection, { version, staleMs }, mark);
      if (found !== undefined) {
        mark = found.mark;
        leftOut = found.leftOut;
        const { progress } = found;
        if ((Object.keys(seen) as (keyof Progress)[]).some((key) => seen[key] !== progress[key]))
          this.#tell(version, progress);
        seen = progress;
      }
      const needed = min.share ? Math.ceil((seen.hosts * min.value) / 100) : min.value;
      if (seen.hosts > 0 && seen.running >= needed) {
        if (seen.stale > 0) this.note(leftOutText(seen.stale, leftOut));
        return this.done({ target: this.target, version, ...seen, left_out: leftOut });
      }
      if (performance.now() >= end)
        throw deploymentError("fleet_behind", `${sentence(version, seen)} after ${withinMs / 1000} s.`, {
          hint: `\`sealift fleet ${this.target}\` shows which hosts lag behind; \`sealift fleet forget\` removes those that are gone.`,
        });
      await sleep(Math.min(intervalMs, Math.max(end - performance.now(), 0)), undefined, { signal: interrupt.signal });
    }
  }

  #tell(version: string, progress: Progress): void {
    if (this.json) this.print.event({ event: "progress", target: this.target, version, ...progress });
    else this.note(sentence(version, progress));
  }
}

const sentence = (version: string, { hosts, running, failing, stale }: Progress): string =>
  `${running} of ${counted(hosts, "host")} ${hosts === 1 ? "runs" : "run"} ${version}${failing === 0 ? "" : `, ${failing} failing`}${stale === 0 ? "" : `, ${stale} stale left out`}`;

const leftOutText = (count: number, hosts: readonly string[]): string =>
  `left out as stale: ${hosts.join(", ")}${count > hosts.length ? ` and ${count - hosts.length} more` : ""}`;

/** Counts the hosts; undefined when nothing has changed since the mark. */
async function progressOf(
  target: Target,
  connection: HubConnection,
  { version, staleMs }: { version: string; staleMs: number },
  mark: FleetMark,
): Promise<{ progress: Progress; leftOut: string[]; mark: FleetMark } | undefined> {
  const { readFleet } = await import("../../lib/client/fleet.ts");
  // Without the cursor: all hosts are counted.
  const view = await readFleet(target, connection, mark.etag === undefined ? {} : { etag: mark.etag });
  if (!view.changed) return undefined;
  const progress: Progress = { hosts: 0, running: 0, failing: 0, stale: 0 };
  const leftOut: string[] = [];
  const now = Date.now();
  for await (const host of view.hosts) {
    if (isStale(host, staleMs, now)) {
      progress.stale++;
      if (leftOut.length < NAMED) leftOut.push(host.host_id);
      continue;
    }
    progress.hosts++;
    if (runningVersion(host) === version && unhealthySince(host) === undefined) progress.running++;
    else if (isFailing(host)) progress.failing++;
  }
  return { progress, leftOut, mark: view.mark };
}
