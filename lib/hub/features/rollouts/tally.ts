import { WAIT_CAUSES, type WaitCause } from "../../../contract/blame.ts";
import type { Labels } from "../../../contract/labels.ts";
import type { FailingHost, WaitingHosts, WaveCounts } from "../../../contract/rollouts/records.ts";
import { isKnown, type Knowable, type Knowing, waveOf, type Waves } from "../../gate/waves.ts";

/** Facts of a host's last report that a rollout needs. */
export interface ReportedHost extends Knowable {
  id: string;
  labels: Labels;
  /** Running version: null for none, undefined if unknown. */
  running: string | null | undefined;
  /** Version of its last deployment, and whether that failed. */
  tried: string;
  hasFailed: boolean;
  /** Why that deployment waits, though the version is not to blame; undefined for any other. */
  waits: WaitCause | undefined;
  /** Whether what it runs is unhealthy after its deployment. */
  isUnhealthy: boolean;
  error: string | null;
  /** When the hub received the report, in milliseconds since 1970. */
  reportedAt: number;
  /** When the host was last heard of, by report or poll, in milliseconds since 1970. */
  heardAt: number;
  /** Whether it names itself in its polls, so that it is answered by its wave. */
  isNamed: boolean;
  /** Whether an operator has taken it out of service. */
  isOut: boolean;
  /** Whether it has no network: its last report came back by a kit, and it has not polled since. */
  isByKit: boolean;
}

/** Part of a rollout that a tally needs. */
export interface Tallied extends Knowing {
  id: string;
  version: string;
  waves: Waves;
  /** Time before which failures do not count: a person has seen them. Milliseconds since 1970. */
  failuresSince: number;
  /** Versions that hosts keep instead of this one. */
  kept: readonly string[];
}

/** Silence after which a host does not count, in milliseconds: it is switched off or gone. Failed hosts still count. */
export const SILENT_MS = 24 * 60 * 60 * 1000;

/** Most hosts kept by name: of those that fail, and of those that are waited for. */
const MAX_NAMED = 20;

/** Counts of the hosts of a rollout. New hosts, and hosts that keep a greater version, are in no wave's count. */
export interface Tally {
  /** Counts by wave. */
  waves: readonly WaveCounts[];
  /** Some of the failing hosts. */
  failing: readonly FailingHost[];
  /** Hosts of open waves that wait with the version, though it is not to blame, by cause. */
  waits: readonly WaitingHosts[];
  /** Some hosts of open waves that neither run the version nor fail, the longest silent first. */
  awaited: readonly string[];
  /** Hosts unknown to the rollout, or that do not name themselves: they are in the last wave. */
  fresh: number;
  keeping: readonly { version: string; hosts: number }[];
}

/** State of a host in a rollout. */
interface Counted {
  wave: number;
  state: "done" | "failing" | "waiting" | "new";
  /** Greater version that the host keeps. */
  keeps: string | undefined;
  error: string | null;
  reportedAt: number;
  waits: WaitCause | undefined;
  heardAt: number;
  /** Whether it counts by its report alone, and is never waited for. */
  isByKit: boolean;
}

/** Time after which a count is repeated, in milliseconds, since hosts fall silent without a change. */
const COUNT_MS = 60_000;

/** Hosts of a rollout by their last reports; each counts once, however many reports it sent. */
export class FleetTally {
  readonly #rollout: Tallied;
  readonly #hosts = new Map<string, Counted>();
  #counted: { tally: Tally; at: number; open: number } | undefined;

  constructor(rollout: Tallied) {
    this.#rollout = rollout;
  }

  /** Replaces a host's last report. */
  set(host: ReportedHost): void {
    const { id, version, waves, failuresSince, kept } = this.#rollout;
    this.#counted = undefined;
    // Nobody waits for it, and what fails there says nothing.
    if (host.isOut) return void this.#hosts.delete(host.id);
    const isDone = host.running === version && !host.isUnhealthy;
    // An unhealthy host reports the version that it runs as the one that failed.
    const hasFailed = host.running === version ? host.isUnhealthy : host.hasFailed && host.tried === version;
    const isFailing = hasFailed && host.reportedAt > failuresSince;
    // A host without network has no polls in which it could say its name. Whoever makes kits could invent it, too.
    const isNew = !isKnown(this.#rollout, host) || !(host.isNamed || host.isByKit);
    this.#hosts.set(host.id, {
      wave: waveOf(id, waves, host),
      state: isNew ? "new" : isDone ? "done" : isFailing ? "failing" : "waiting",
      keeps: kept.find((greater) => greater === host.running),
      error: isFailing ? host.error : null,
      reportedAt: host.reportedAt,
      waits: host.tried === version && host.running !== version ? host.waits : undefined,
      heardAt: host.heardAt,
      isByKit: host.isByKit,
    });
  }

  /** Counts the hosts. @param now milliseconds since 1970 @param open number of open waves */
  at(now: number, open: number): Tally {
    if (this.#counted?.open !== open || Math.abs(now - this.#counted.at) >= COUNT_MS)
      this.#counted = { tally: this.#count(now, open), at: now, open };
    return this.#counted.tally;
  }

  #count(now: number, open: number): Tally {
    const waves = Array.from({ length: this.#rollout.waves.count }, () => ({ hosts: 0, done: 0, failing: 0 }));
    const failing: FailingHost[] = [];
    const awaited = new LongestSilent();
    const keeping = new Map<string, number>();
    const waits = new Map<WaitCause, number>();
    let fresh = 0;
    for (const [id, host] of this.#hosts) {
      const { wave: index, state, keeps, error, reportedAt, waits: cause, heardAt, isByKit } = host;
      if (isByKit ? state === "waiting" : state !== "failing" && now - heardAt > SILENT_MS) continue;
      if (state === "new") fresh++;
      else if (keeps !== undefined) keeping.set(keeps, (keeping.get(keeps) ?? 0) + 1);
      else {
        const wave = waves[index]!;
        wave.hosts++;
        if (state !== "waiting") wave[state]++;
        if (state === "failing" && failing.length < MAX_NAMED)
          failing.push({ host_id: id, error_message: error, reported_at: new Date(reportedAt).toISOString() });
        if (state === "waiting" && index < open) {
          awaited.add(id, heardAt);
          if (cause !== undefined) waits.set(cause, (waits.get(cause) ?? 0) + 1);
        }
      }
    }
    const kept = [...keeping].map(([version, hosts]) => ({ version, hosts }));
    const held = WAIT_CAUSES.flatMap((cause) => {
      const hosts = waits.get(cause);
      return hosts === undefined ? [] : { cause, hosts };
    });
    return { waves, failing, waits: held, awaited: awaited.ids, fresh, keeping: kept };
  }
}

/** The {@link MAX_NAMED} hosts that were heard of least recently, of any number. */
class LongestSilent {
  readonly #hosts: { id: string; heardAt: number }[] = [];

  add(id: string, heardAt: number): void {
    const last = this.#hosts.at(-1);
    if (this.#hosts.length === MAX_NAMED && heardAt >= last!.heardAt) return;
    const after = this.#hosts.findIndex((other) => heardAt < other.heardAt);
    this.#hosts.splice(after === -1 ? this.#hosts.length : after, 0, { id, heardAt });
    this.#hosts.splice(MAX_NAMED);
  }

  get ids(): string[] {
    return this.#hosts.map(({ id }) => id);
  }
}
