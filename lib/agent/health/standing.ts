import type { HEALTH_STATES } from "../../contract/surfaces/host-record.ts";
import type { Standing } from "../../releases/health.ts";
import type { Sample } from "../supervisors/supervisor.ts";

/** Misses in a row after which a unit is unhealthy. */
const MISSES = 3;

type State = (typeof HEALTH_STATES)[number];

/** State of a unit by its looks. */
export interface UnitHealth {
  /** Looks in a row that found a fault. */
  misses: number;
  /** Time of the first of them, ISO 8601. */
  since: string;
  /** Restarts at the last look. */
  restarts: number;
  /** Fault of an unhealthy unit. */
  fault: string | undefined;
}

/**
 * Returns the health of a unit after a look: three misses in a row make it unhealthy, one answer healthy. A restart
 * since the last look is a miss, too.
 *
 * @param now ISO 8601
 */
export function afterLook(before: UnitHealth | undefined, { fault, restarts }: Sample, now: string): UnitHealth {
  const again = before !== undefined && restarts > before.restarts;
  const found = fault ?? (again ? "it was restarted since it was looked at last" : undefined);
  if (found === undefined) return { misses: 0, since: now, restarts, fault: undefined };
  const misses = (before?.misses ?? 0) + 1;
  const since = before === undefined || before.misses === 0 ? now : before.since;
  const isUnhealthy = misses >= MISSES || before?.fault !== undefined;
  return { misses, since, restarts, fault: isUnhealthy ? found : undefined };
}

/**
 * Returns the health of a release with these units: it is unhealthy while one of them is. A state that goes on keeps
 * its time.
 *
 * @param now ISO 8601
 */
export function standingOf(
  release: string,
  units: ReadonlyMap<string, UnitHealth>,
  before: Standing | undefined,
  now: string,
): Standing {
  const sick = [...units].filter(([, { fault }]) => fault !== undefined);
  const state: State = sick.length === 0 ? "healthy" : "unhealthy";
  const first = sick.map(([, { since }]) => since).toSorted()[0] ?? now;
  return {
    ...{ v: 1, release, state },
    since: before?.state === state ? before.since : first,
    units: Object.fromEntries(sick.map(([unit, { fault }]) => [unit, fault!])),
    ...(before?.told && { told: before.told }),
  };
}

/** Part of the quiet time for which a release has to be healthy before that is reported: 30 seconds of five minutes. */
const SETTLED = 1 / 10;

/**
 * Returns the milliseconds until a change of health is to be reported, or undefined when the last report says what is.
 * A deployment has said that what it switched to is healthy. A repair is told soon; what falls ill again only after the
 * quiet time, so a release that comes and goes makes two reports in it.
 *
 * @param now milliseconds since 1970
 * @param quietMs least time before a release is reported unhealthy again
 */
export function tellIn(
  { state, since, told }: Pick<Standing, "state" | "since" | "told">,
  now: number,
  quietMs: number,
): number | undefined {
  if (state === (told?.state ?? "healthy")) return undefined;
  if (told === undefined) return 0;
  const [from, least] = state === "healthy" ? [since, quietMs * SETTLED] : [told.at, quietMs];
  const past = now - Date.parse(from);
  // A time in the future does not count: the clock was set back since.
  return past < 0 ? 0 : Math.max(0, least - past);
}
