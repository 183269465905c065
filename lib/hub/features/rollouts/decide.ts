import { type Amount, lacksHost } from "../../../contract/rollout-terms.ts";
import type { WaitingFor, WaveCounts } from "../../../contract/rollouts/records.ts";
import { counted } from "../../../support/counted.ts";
import { isOpenAt, nextOpening, type Window } from "../../gate/window.ts";
import type { RolloutStatus } from "./records.ts";
import type { Tally } from "./tally.ts";

/** Rules of a rollout, as they were given. */
export interface Rules {
  version: string;
  /** Whether a label selects the hosts, for each wave. */
  labelled: readonly boolean[];
  soakMs: number;
  maxFailing: Amount;
  minDone: Amount;
  window: Window | undefined;
  approve: boolean;
}

/** Facts that a decision is based on. */
export interface RolloutFacts {
  /** Milliseconds since 1970. */
  now: number;
  isPublished: boolean;
  tally: Pick<Tally, "waves">;
}

/** Parts that a host is divided into: amounts have four decimals, so sums of parts are whole numbers. */
const PARTS = 10_000;

/** Returns an amount of some hosts, in parts of a hundredth of a host. */
const partsOf = ({ value, isShare }: Amount, hosts: number): number =>
  Math.round(value * PARTS) * (isShare ? hosts : 100);

const wholeHosts = (parts: number): number => Math.ceil(parts / (PARTS * 100));

const sumOf = (waves: readonly WaveCounts[], of: keyof WaveCounts): number =>
  waves.reduce((sum, wave) => sum + wave[of], 0);

/** Returns why a rollout has to halt, or undefined. */
function haltReason(
  { version, maxFailing }: Rules,
  { open }: RolloutStatus,
  { tally }: RolloutFacts,
): string | undefined {
  const failing = sumOf(tally.waves, "failing");
  const hosts = sumOf(tally.waves.slice(0, open), "hosts");
  if (failing * PARTS * 100 <= partsOf(maxFailing, hosts)) return undefined;
  const where = open === 0 ? "before any wave was open" : `with ${hosts} in open waves`;
  return `${version} failed on ${counted(failing, "host")}, ${where}.`;
}

/** Tells whether a wave waits for a host that has run the version, or for a person's approval. */
export const needsHost = ({ labelled }: Pick<Rules, "labelled">, open: number, { waves }: Pick<Tally, "waves">) =>
  lacksHost(
    waves.map(({ done }, index) => ({ isLabelled: labelled[index]!, done })),
    open,
  );

/** Tells whether enough hosts of the open waves run the version. */
function isReached(rules: Rules, { open, approved }: RolloutStatus, { tally }: RolloutFacts): boolean {
  const waves = tally.waves.slice(0, open);
  const hosts = sumOf(waves, "hosts");
  if (sumOf(waves, "done") < Math.min(wholeHosts(partsOf(rules.minDone, hosts)), hosts)) return false;
  return approved > open || !needsHost(rules, open, tally);
}

/**
 * Decides the next status of a rollout from its rules, its progress, the hosts' reports and the time. Opens at most one
 * wave. Only a person resumes a halted or paused rollout; a paused one can still halt.
 */
export function decideRollout(rules: Rules, status: RolloutStatus, facts: RolloutFacts): RolloutStatus {
  const { now } = facts;
  if (status.state !== "running" && status.state !== "paused") return status;
  const still = { ...status, waitingFor: null, until: null };
  const waiting = (waitingFor: WaitingFor, until: number | null, more: Partial<RolloutStatus> = {}): RolloutStatus => ({
    ...{ ...still, ...more },
    waitingFor,
    until,
  });
  const halt = haltReason(rules, status, facts);
  // A version that is not published yet is nobody's: reports of it are of another one of its label.
  if (halt !== undefined && (status.open > 0 || facts.isPublished))
    return { ...still, state: "halted", reason: halt, soakingSince: null };
  if (status.state === "paused") return { ...still, soakingSince: null };
  if (!facts.isPublished) return waiting("publication", null);

  if (status.open > 0) {
    if (!isReached(rules, status, facts)) return waiting("hosts", null, { soakingSince: null });
    const soakingSince = status.soakingSince ?? now;
    const soakedAt = soakingSince + rules.soakMs;
    if (now < soakedAt) return waiting("soak", soakedAt, { soakingSince });
    if (status.open === rules.labelled.length)
      return { ...still, state: "completed", reason: null, soakingSince, endedAt: now };
    if (rules.approve && status.approved <= status.open) return waiting("approval", null, { soakingSince });
    if (!isOpenAt(rules.window, now)) return waiting("window", nextOpening(rules.window!, now), { soakingSince });
  } else if (!isOpenAt(rules.window, now)) return waiting("window", nextOpening(rules.window!, now));
  return waiting("hosts", null, { open: status.open + 1, openedAt: now, soakingSince: null });
}
