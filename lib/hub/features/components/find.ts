import { type ComponentQuery, isInRange } from "../../../contract/components/query.ts";
import {
  type FoundComponents,
  type FoundVersion,
  MOST_HOSTS,
  MOST_UNINDEXED,
  MOST_VERSIONS,
} from "../../../contract/components/routes.ts";
import { targetText } from "../../../contract/target.ts";
import type { Principal } from "../../base/principal.ts";
import type { FleetKey } from "../../records/fleet.ts";
import type { Queries } from "../../records/port.ts";
import { fleetOf } from "../../records/subjects.ts";
import {
  candidatesOf,
  countRunning,
  runningHosts,
  unindexedVersions,
  type Using,
  versionsWith,
} from "./find-records.ts";

/** Most components that an answer lists as not comparable. */
const MOST_UNCOMPARED = 100;

/** Version, with the fleet that may run it. */
type Seen = FoundVersion & { view: FleetKey };

/**
 * Finds the versions that contain a component, and the hosts that run them, in the fleets that a key may see: those of
 * targets that it controls, and its owner's.
 */
export async function findComponents(
  db: Queries,
  { range, ...called }: ComponentQuery,
  principal: Principal,
): Promise<FoundComponents> {
  const candidates = (await candidatesOf(db, called)).map((component) => {
    return { component, isIn: isInRange(component, range) };
  });
  const inRange = new Map(candidates.filter(({ isIn }) => isIn).map(({ component }) => [component.id, component]));
  const versions = new Map<string, Seen>();
  for (const using of await versionsWith(db, [...inRange.keys()], principal)) {
    const { name, version, purl } = inRange.get(using.component_id)!;
    const seen = versions.get(using.version_id) ?? seenAs(using, principal);
    seen.components.push({ name, version, purl });
    versions.set(using.version_id, seen);
  }
  await addHosts(db, [...versions.values()]);
  const sorted = [...versions.values()].sort((a, b) => b.host_count - a.host_count || compare(a.target, b.target));
  const uncompared = await seenOf(
    db,
    principal,
    candidates.filter(({ isIn }) => isIn === undefined),
  );
  return {
    versions: sorted.slice(0, MOST_VERSIONS).map(({ view: _, ...version }) => version),
    truncated: sorted.length > MOST_VERSIONS,
    uncompared,
    unindexed: (await unindexedVersions(db, principal, MOST_UNINDEXED)).map(({ kind, slug, name, version }) => {
      return { target: targetText({ kind, slug }), name, version };
    }),
  };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the components to which the range does not apply, and that belong to a version which the key may see. */
async function seenOf(
  db: Queries,
  principal: Principal,
  candidates: readonly { component: { id: number; version: string; purl: string } }[],
): Promise<FoundComponents["uncompared"]> {
  if (candidates.length === 0) return [];
  const ids = candidates.map(({ component }) => component.id);
  const seen = new Set((await versionsWith(db, ids, principal)).map(({ component_id: id }) => id));
  return candidates
    .filter(({ component }) => seen.has(component.id))
    .slice(0, MOST_UNCOMPARED)
    .map(({ component: { version, purl } }) => ({ version, purl }));
}

function seenAs({ kind, slug, name, version }: Using, { owner }: Principal): Seen {
  const view = fleetOf({ kind, id: slug, slug, owner });
  return { target: targetText({ kind, slug }), name, version, components: [], host_count: 0, hosts: [], view };
}

/**
 * Groups versions into queries that read their hosts: each of at most {@link MOST_HOSTS} hosts, or of one version
 * with more.
 */
function together(versions: readonly Seen[]): Seen[][] {
  const groups: Seen[][] = [];
  let hosts = 0;
  for (const seen of versions.filter(({ host_count: count }) => count > 0)) {
    const last = groups.at(-1);
    if (last === undefined || hosts + seen.host_count > MOST_HOSTS) {
      groups.push([seen]);
      hosts = 0;
    } else last.push(seen);
    hosts += seen.host_count;
  }
  return groups;
}

/** Adds the hosts that run each version. */
async function addHosts(db: Queries, versions: readonly Seen[]): Promise<void> {
  for (const ofTarget of Map.groupBy(versions, ({ target }) => target).values()) {
    const { view } = ofTarget[0]!;
    const counts = await countRunning(
      db,
      view,
      ofTarget.map(({ version }) => version),
    );
    for (const seen of ofTarget) seen.host_count = counts.get(seen.version) ?? 0;
    for (const group of together(ofTarget)) {
      const labels = group.map(({ version }) => version);
      const hosts = await runningHosts(db, view, labels, MOST_HOSTS);
      for (const seen of group) seen.hosts = hosts.get(seen.version) ?? [];
    }
  }
}
