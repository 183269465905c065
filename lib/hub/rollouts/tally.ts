import type { Labels } from "../../contract/labels.ts";
import type { FailingHost, WaveCounts } from "../../contract/surfaces/rollouts.ts";
import { waveOf, type Waves } from "./waves.ts";

/** The last report of a host, as far as a rollout asks. */
export interface ReportedHost {
  id: string;
  labels: Labels;
  /** The version that it runs: null when none does, undefined when nobody knows. */
  running: string | null | undefined;
  /** The version of its last deployment, and whether that failed. */
  tried: string;
  hasFailed: boolean;
  error: string | null;
  /** When the hub got the report, in milliseconds since 1970. */
  reportedAt: number;
  /** When it was last heard of: a poll counts, too. */
  heardAt: number;
}

/** The part of a rollout that a tally needs. */
export interface Tallied {
  id: string;
  version: string;
  waves: Waves;
  /** Failures that were reported before do not count: a person has seen them. */
  failuresSince: number;
}

/** A host that was silent for so long does not count: it is switched off, or gone. One that failed does. */
export const SILENT_MS = 24 * 60 * 60 * 1000;

/** Failing hosts that are kept with their reasons. */
const MAX_NAMED = 20;

export interface Tally {
  /** By wave. */
  waves: readonly WaveCounts[];
  /** Some of those that fail. */
  failing: readonly FailingHost[];
}

/** The state of a host in a rollout. */
interface Counted {
  wave: number;
  state: "done" | "failing" | "waiting";
  error: string | null;
  heardAt: number;
}

/** The hosts of a rollout by their last reports. Each counts once, however many reports it sent. */
export class FleetTally {
  readonly #rollout: Tallied;
  readonly #hosts = new Map<string, Counted>();

  constructor(rollout: Tallied) {
    this.#rollout = rollout;
  }

  /** Takes a host's last report in place of an earlier one. */
  set(host: ReportedHost): void {
    const { id, version, waves, failuresSince } = this.#rollout;
    const isDone = host.running === version;
    const isFailing = !isDone && host.hasFailed && host.tried === version && host.reportedAt > failuresSince;
    this.#hosts.set(host.id, {
      wave: waveOf(id, waves, host),
      state: isDone ? "done" : isFailing ? "failing" : "waiting",
      error: isFailing ? host.error : null,
      heardAt: host.heardAt,
    });
  }

  /** Counts the hosts. @param now milliseconds since 1970 */
  at(now: number): Tally {
    const waves = Array.from({ length: this.#rollout.waves.count }, () => ({ hosts: 0, done: 0, failing: 0 }));
    const failing: FailingHost[] = [];
    for (const [id, { wave: index, state, error, heardAt }] of this.#hosts) {
      if (state !== "failing" && now - heardAt > SILENT_MS) continue;
      const wave = waves[index]!;
      wave.hosts++;
      if (state !== "waiting") wave[state]++;
      if (state === "failing" && failing.length < MAX_NAMED) failing.push({ host_id: id, error_message: error });
    }
    return { waves, failing };
  }
}
