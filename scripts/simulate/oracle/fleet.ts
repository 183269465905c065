/** Hosts and their counts as the page describes them, implemented independently. */
import { createHash } from "node:crypto";
import type { Rules } from "../plan.ts";

const DAY = 24 * 60 * 60 * 1000;

/** Host, by what one owner's hub has heard of it. */
export interface KnownHost {
  /** Place of its first report among all events. */
  first: number;
  /** Whether its key speaks for it alone. */
  isBound: boolean;
  /** Whether it names itself in its polls. */
  isNamed: boolean;
  running: string | null;
  /** Version of its last deployment, if that failed. */
  failed: string | null;
  /** Whether it says that what it runs is unhealthy. */
  isUnhealthy: boolean;
  /** Event of its last report; the next field is its time by the hub's clock. */
  event: number;
  reportedAt: number;
  heardAt: number;
  labels: Record<string, string>;
  /** Labels that an operator gave it. */
  given: Record<string, string> | null;
}

/** Counted hosts of a wave. */
export interface Counts {
  hosts: number;
  done: number;
  /** Hosts that certainly fail; the next field has those about which two clocks disagree. */
  failing: number;
  doubtful: number;
}

/** Rollout as its counts need it. */
export interface Counting {
  id: string;
  version: string;
  waves: readonly string[];
  /** Hosts with a later first report are new. */
  known: number;
  rules: Pick<Rules, "bound_hosts">;
  /** Event before which failures do not count, with its time by the hub's clock. */
  since: { event: number; at: number };
}

/** Returns the wave of a host by its labels, else by its place. */
export function waveOf(id: string, waves: readonly string[], hostId: string, labels: Record<string, string>): number {
  const byLabel = waves.findIndex((wave) => {
    const [name, value] = wave.split("=");
    return value !== undefined && labels[name!] === value;
  });
  if (byLabel !== -1) return byLabel;
  const digest = createHash("sha256").update(`${id}\0${hostId}`).digest();
  const place = (digest.readUIntBE(0, 6) / 2 ** 48) * 100;
  return waves.findIndex((wave) => wave.endsWith("%") && place < Number(wave.slice(0, -1)));
}

/** Tells whether a rollout does not know a host. */
export function isNew({ first, isBound }: KnownHost, { known, rules }: Pick<Counting, "known" | "rules">): boolean {
  if (isBound) return false;
  return rules.bound_hosts || first > known;
}

/** Counts hosts by wave. @param keeps whether a host that runs a version stays there @param skew of hubs' clocks, ms */
export function count(
  hosts: ReadonlyMap<string, KnownHost>,
  rollout: Counting,
  { now, skew, keeps }: { now: number; skew: number; keeps: (version: string) => boolean },
): Counts[] {
  const { id, version, waves, since } = rollout;
  const counts = waves.map(() => ({ hosts: 0, done: 0, failing: 0, doubtful: 0 }));
  for (const [hostId, host] of hosts) {
    if (!host.isNamed || isNew(host, rollout)) continue;
    const { running, failed, isUnhealthy, given, labels } = host;
    const isFailing = running === version ? isUnhealthy : failed === version;
    const isDoubtful = Math.abs(host.reportedAt - since.at) <= skew;
    const isSeen = isFailing && (host.event > since.event || isDoubtful);
    if (!isSeen && now - host.heardAt > DAY) continue;
    if (running !== null && running !== version && keeps(running)) continue;
    const wave = counts[waveOf(id, waves, hostId, given ?? labels)]!;
    wave.hosts++;
    if (running === version && !isUnhealthy) wave.done++;
    else if (isSeen) wave[isDoubtful ? "doubtful" : "failing"]++;
  }
  return counts;
}

/** Tells whether a number of hosts is more than an amount such as `2%` or `3` of some hosts. */
export function exceeds(hosts: number, amount: string, of: number): boolean {
  const [whole, part = ""] = amount.replace("%", "").split(".") as [string, string?];
  const value = BigInt(whole + part.padEnd(4, "0"));
  return amount.endsWith("%") ? BigInt(hosts) * 1_000_000n > value * BigInt(of) : BigInt(hosts) * 10_000n > value;
}

/** Tells whether a number of hosts is enough by `min_done`. */
export const isEnough = (done: number, { min_done: least }: Pick<Rules, "min_done">, of: number): boolean =>
  done >= of || (least.endsWith("%") ? !isLess(done, least, of) : done >= Number(least));

/** Tells whether hosts are fewer than a share: exactly then one host more is needed. */
const isLess = (hosts: number, share: string, of: number): boolean =>
  !exceeds(hosts, share, of) && BigInt(hosts) * 1_000_000n !== shareOf(share) * BigInt(of);

function shareOf(share: string): bigint {
  const [whole, part = ""] = share.replace("%", "").split(".") as [string, string?];
  return BigInt(whole + part.padEnd(4, "0"));
}
