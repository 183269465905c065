/** Versions of a plan that hosts do not bear: some fail when they are deployed, some make a host unhealthy later. */
import { Random } from "../fuzz/random.ts";
import type { SimulatedHost } from "./host.ts";
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
