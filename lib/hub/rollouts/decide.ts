import type { Amount } from "../../contract/rollout-terms.ts";
import type { RolloutState, WaitingFor } from "../../contract/surfaces/rollouts.ts";
import type { Tally } from "./tally.ts";
import { isOpenAt, nextOpening, type Window } from "./window.ts";

/** A rollout as the decision takes it, and what the decision may change. Times are milliseconds since 1970. */
export interface Standing {
  state: RolloutState;
  reason: string | null;
  /** Waves that are open: the first ones. */
  open: number;
  openedAt: number | null;
  /** Since when enough hosts of the open waves run the version. */
  soakingSince: number | null;
  /** Waves that a person lets open. */
  approved: number;
  waitingFor: WaitingFor | null;
  /** When that ends by itself. */
  until: number | null;
  endedAt: number | null;
}

/** The rules of a rollout, as they were given. */
export interface Rules {
  version: string;
  waves: number;
  soakMs: number;
  maxFailing: Amount;
  minDone: Amount;
  window: Window | undefined;
  approve: boolean;
}

/** The knowledge of the hub at a moment. */
export interface Facts {
  now: number;
  version: "published" | "unpublished" | "yanked" | "deleted";
  tally: Tally;
}

const shareOf = ({ value, isShare }: Amount, hosts: number): number => (isShare ? (value * hosts) / 100 : value);

const hostsText = (count: number): string => `${count} host${count === 1 ? "" : "s"}`;

/** Returns why a rollout has to halt, or undefined. */
function haltReason(rules: Rules, { open }: Standing, { version, tally }: Facts): string | undefined {
  if (version === "yanked" || version === "deleted") return `${rules.version} was ${version}.`;
  const failing = tally.waves.reduce((sum, wave) => sum + wave.failing, 0);
  const hosts = tally.waves.slice(0, open).reduce((sum, wave) => sum + wave.hosts, 0);
  if (failing <= shareOf(rules.maxFailing, hosts)) return undefined;
  return `${rules.version} failed on ${hostsText(failing)}, with ${hosts} in open waves.`;
}

/** Tells whether enough hosts of the open waves run the version. */
function isReached({ minDone }: Rules, { open }: Standing, { tally }: Facts): boolean {
  const waves = tally.waves.slice(0, open);
  const hosts = waves.reduce((sum, wave) => sum + wave.hosts, 0);
  const done = waves.reduce((sum, wave) => sum + wave.done, 0);
  return done >= Math.min(Math.ceil(shareOf(minDone, hosts)), hosts);
}

/**
 * Decides how a rollout goes on: from its rules, from how it stands, from the hosts' reports, and from the time. It
 * opens one wave at most. Only a person brings a rollout on that is halted or paused; a paused one still halts.
 */
export function decide(rules: Rules, standing: Standing, facts: Facts): Standing {
  const { now } = facts;
  if (standing.state !== "running" && standing.state !== "paused") return standing;
  const still = { ...standing, waitingFor: null, until: null };
  const waiting = (waitingFor: WaitingFor, until: number | null, more: Partial<Standing> = {}): Standing => ({
    ...{ ...still, ...more },
    waitingFor,
    until,
  });
  const halt = haltReason(rules, standing, facts);
  if (halt !== undefined && (facts.version !== "unpublished" || standing.open > 0))
    return { ...still, state: "halted", reason: halt, soakingSince: null };
  if (standing.state === "paused") return { ...still, soakingSince: null };
  if (facts.version === "unpublished") return waiting("publication", null);

  if (standing.open > 0) {
    if (!isReached(rules, standing, facts)) return waiting("hosts", null, { soakingSince: null });
    const soakingSince = standing.soakingSince ?? now;
    const soakedAt = soakingSince + rules.soakMs;
    if (now < soakedAt) return waiting("soak", soakedAt, { soakingSince });
    if (standing.open === rules.waves)
      return { ...still, state: "completed", reason: null, soakingSince, endedAt: now };
    if (rules.approve && standing.approved <= standing.open) return waiting("approval", null, { soakingSince });
    if (!isOpenAt(rules.window, now)) return waiting("window", nextOpening(rules.window!, now).from, { soakingSince });
  } else if (!isOpenAt(rules.window, now)) return waiting("window", nextOpening(rules.window!, now).from);
  return waiting("hosts", null, { open: standing.open + 1, openedAt: now, soakingSince: null });
}
