/** Versions of a plan that hosts do not bear: some fail when they are deployed, some make a host unhealthy later. */
import { Random } from "../fuzz/random.ts";
import type { SimulatedHost } from "./host.ts";
import type { HostReport } from "./messages.ts";
import type { Plan } from "./plan.ts";

/** A place of a host among a hundred, for a version. */
const placeOf = ({ seed }: Plan, { id }: SimulatedHost, version: string): number =>
  new Random(seed * 31 + Number(id.slice(5)) * 7 + version.length).below(100);

/** Tells whether the deployment of a version fails on a host. */
export function isBad(plan: Plan, host: SimulatedHost, version: string): boolean {
  const share = plan.bad[version];
  if (typeof share === "string") return host.plan.labels[share] !== undefined;
  return share !== undefined && placeOf(plan, host, version) < share;
}

/** Causes of an end that blames no version: what an agent says now, and what older ones said. */
const CAUSES = [
  { code: "interrupted", message: "The watch was told to end." },
  { message: "Interrupted by a signal." },
  { message: "The deployment was interrupted and has been undone." },
  { code: "app_not_allowed", message: "held: application: web is not allowed" },
  { code: "disk_full", message: "No space left on the disk of /srv." },
];

/**
 * Returns why the first deployment of a version on a host ends early, on a tenth of the hosts, though the version is
 * not to blame; undefined for the others.
 */
export function cutShortBy(
  plan: Plan,
  host: SimulatedHost,
  version: string,
): NonNullable<HostReport["cause"]> | undefined {
  const place = (placeOf(plan, host, version) + 37) % 100;
  return place < 10 && !host.wasCutShort(version) ? CAUSES[place % CAUSES.length] : undefined;
}

/** Change of the health of a version that a host runs. */
export interface Turn {
  do: "turn";
  host: SimulatedHost;
  version: string;
  isUnhealthy: boolean;
}

/** Lists how the health of a host changes after it has deployed a version. @param now milliseconds since 1970 */
export function turnsAfter(
  plan: Plan,
  host: SimulatedHost,
  version: string,
  now: number,
): { at: number; event: Turn }[] {
  const illness = plan.ailing[version];
  // Others than those on which a share of deployments fails.
  if (illness === undefined || 99 - placeOf(plan, host, version) >= illness.share) return [];
  const at = now + illness.afterMs;
  const turn = { do: "turn", host, version } as const;
  return [
    { at, event: { ...turn, isUnhealthy: true } },
    { at: at + illness.forMs, event: { ...turn, isUnhealthy: false } },
  ];
}
