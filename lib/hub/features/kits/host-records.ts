import { hostFingerprint } from "../../../artifact/sealed/host-key.ts";
import type { KitHost } from "../../../contract/kits/records.ts";
import { hostTaken, HubError } from "../../base/errors.ts";
import type { FleetKey } from "../../records/fleet.ts";
import { hostsWithKeys, keysOfHost } from "../../records/hooks.ts";
import type { StoredRecord } from "../../records/host-columns.ts";
import { isCalledAnyOf, namesakeOf } from "../../records/host-names.ts";
import { forgetHost, hostsBefore, renameHost } from "../../records/host-rows.ts";
import type { Queries, Transacted } from "../../records/port.ts";
import { deleteWhere, selectWhere, updateWhere } from "../../records/rows.ts";
import { fleetOf } from "../../records/subjects.ts";
import { isOf } from "./records.ts";
import { type KitHostsTable, own } from "./tables.ts";

/** Kits as what becomes of their hosts in their project changes them (docs/contract/kits.md#hosts). */

/** Host of a project by its name. */
interface NamedHost {
  projectId: string;
  hostId: string;
}

/** Returns the hosts of kits for a project, without removed ones, that have one of the names in any case of A to Z. */
export async function hostsCalled(db: Queries, projectId: string, names: readonly string[]): Promise<string[]> {
  const found = own(db)
    .selectFrom("kit_hosts")
    .select("host_id")
    .distinct()
    .where(isCalledAnyOf(names))
    .where("removed_at", "is", null)
    .where("kit_id", "in", (eb) => eb.selectFrom("kits").select("id").where(isOf(projectId)));
  return (await found.execute()).map(({ host_id: name }) => name);
}

/** Marks a host as removed in all kits for it, and takes it out of the fleets in which it stands by one. */
export async function removeHost(transaction: Transacted, host: NamedHost, now: string): Promise<void> {
  for (const fleet of await fleetsByKit(transaction, host)) await forgetHost(transaction, fleet, host.hostId);
  await keepRemovedKeys(transaction, host, now);
  await changeHosts(transaction, host, { removed_at: now });
}

/** Keeps the keys of a host that is being removed: those of the kits for it, and that of its card. */
async function keepRemovedKeys(
  transaction: Transacted,
  { projectId: project_id, hostId: host_id }: NamedHost,
  removed_at: string,
): Promise<void> {
  const ofKits = await selectWhere(own(transaction), "kit_hosts", { host_id })
    .select("fingerprint")
    .where("kit_id", "in", (eb) => eb.selectFrom("kits").select("id").where(isOf(project_id)))
    .execute();
  const known = (await keysOfHost(transaction, project_id, host_id)).map(hostFingerprint);
  const fingerprints = new Set([...ofKits.map(({ fingerprint }) => fingerprint), ...known]);
  const rows = [...fingerprints].map((fingerprint) => ({ project_id, fingerprint, host_id, removed_at }));
  if (rows.length === 0) return;
  await own(transaction)
    .insertInto("removed_host_keys")
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Returns when a key was removed from a project, and which name it had; undefined for one that was not. */
export const removedKey = (db: Queries, project_id: string, fingerprints: readonly string[]) =>
  selectWhere(own(db), "removed_host_keys", { project_id })
    .selectAll()
    .where("fingerprint", "in", fingerprints)
    .limit(1)
    .executeTakeFirst();

/**
 * Requires that hosts of a kit have no name of another host of their project, the key of their card if they have one,
 * no key that was removed from it, and no key that a kit or a card has under another name: whoever removes a host names
 * it once.
 *
 * @throws HubError 409 `host_taken`, `host_key_removed`, `host_key_taken`
 */
export async function requireOwnHosts(db: Queries, project_id: string, hosts: readonly KitHost[]): Promise<void> {
  const names = hosts.map(({ host_id: host }) => host);
  const other = await namesakeOf(db, project_id, names);
  if (other !== undefined) throw hostTaken(other);
  for (const host of hosts) {
    const known = (await keysOfHost(db, project_id, host.host_id)).map(hostFingerprint);
    if (known.length > 0 && !known.includes(hostFingerprint(host))) throw hasOtherKey(host.host_id);
  }
  const nameOf = new Map(hosts.map((host) => [hostFingerprint(host), host.host_id]));
  const removed = await removedKey(db, project_id, [...nameOf.keys()]);
  if (removed !== undefined) {
    const { host_id: before, fingerprint, removed_at: at } = removed;
    const why = `The key of ${nameOf.get(fingerprint)} is that of the host ${before}, which was removed from the project at ${at}.`;
    throw new HubError(409, "host_key_removed", why);
  }
  const ofKits = await own(db)
    .selectFrom("kit_hosts")
    .select(["fingerprint", "host_id"])
    .distinct()
    .where("fingerprint", "in", [...nameOf.keys()])
    .where("removed_at", "is", null)
    .where("kit_id", "in", (eb) => eb.selectFrom("kits").select("id").where(isOf(project_id)))
    .execute();
  for (const { fingerprint, host_id: before } of [...ofKits, ...(await hostsWithKeys(db, project_id, hosts))])
    if (nameOf.get(fingerprint) !== before) {
      const why = `The key of ${nameOf.get(fingerprint)} is that of the project's host ${before}: make the kit under that name, or rename the host.`;
      throw new HubError(409, "host_key_taken", why);
    }
}

const hasOtherKey = (host: string): HubError =>
  new HubError(
    409,
    "host_taken",
    `The host ${host} of the project has another key: make the kit for that of its card (--host ${host}), or remove the host first.`,
  );

/** Forgets the keys of removed hosts of a project that is being deleted. */
export async function forgetRemovedKeys(transaction: Transacted, project_id: string): Promise<void> {
  await deleteWhere(own(transaction), "removed_host_keys", { project_id }).execute();
}

/** Gives a host another name in all kits for it, and in the fleets in which it stands by one. */
export async function renameKitHost(transaction: Transacted, host: NamedHost, to: string): Promise<void> {
  for (const fleet of await fleetsByKit(transaction, host)) {
    // Fleets of plugins and services have the hosts of all projects: the name may be another one's there.
    const isTaken = (await hostsBefore(transaction, fleet, [to])).has(to);
    await (isTaken ? forgetHost(transaction, fleet, host.hostId) : renameHost(transaction, fleet, host.hostId, to));
  }
  await changeHosts(transaction, host, { host_id: to });
}

/**
 * Takes a project's hosts off the kits of plugins and services, which stay with their makers.
 *
 * @param removedAt time since when the hosts are no longer the maker's, ISO 8601; undefined where they go on
 */
export async function leaveHosts(
  transaction: Transacted,
  projectId: string,
  removedAt: string | undefined,
): Promise<void> {
  if (removedAt !== undefined)
    await updateWhere(own(transaction), "kit_hosts", { removed_at: null })
      .set({ removed_at: removedAt })
      .where("kit_id", "in", (eb) => eb.selectFrom("kits").select("id").where("hosts_project_id", "=", projectId))
      .execute();
  await updateWhere(own(transaction), "kits", { hosts_project_id: projectId })
    .set({ hosts_project_id: null })
    .execute();
}

/** Changes a host in the kits for it. One of its name that was removed before is another machine, and stays. */
async function changeHosts(
  db: Queries,
  { projectId, hostId }: NamedHost,
  columns: Partial<Pick<KitHostsTable, "host_id" | "removed_at">>,
): Promise<void> {
  await updateWhere(own(db), "kit_hosts", { host_id: hostId, removed_at: null })
    .set(columns)
    .where("kit_id", "in", (eb) => eb.selectFrom("kits").select("id").where(isOf(projectId)))
    .execute();
}

/** Finds the fleets of plugins and services whose newest report of a host came back by a kit for a project's host. */
async function fleetsByKit(db: Queries, { projectId, hostId }: NamedHost): Promise<FleetKey[]> {
  const kits = await own(db)
    .selectFrom("kits")
    .innerJoin("kit_hosts as h", "h.kit_id", "kits.id")
    .innerJoin("projects as p", "p.id", "kits.project_id")
    .select(["kits.id", "kits.holder", "p.kind", "p.slug"])
    .where("kits.hosts_project_id", "=", projectId)
    .where("h.host_id", "=", hostId)
    .execute();
  const ofFleets = Map.groupBy(kits, ({ holder, kind, slug }) => `${kind}/${slug} ${holder}`);
  const found: FleetKey[] = [];
  // In one order, so that no two removals wait for each other's views.
  for (const [, [first, ...others]] of [...ofFleets].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const { kind, slug, holder: owner } = first!;
    const fleet = fleetOf({ kind, slug, owner } as Parameters<typeof fleetOf>[0]);
    const host = (await hostsBefore(db, fleet, [hostId])).get(hostId);
    const kit = host && (JSON.parse(host.record) as StoredRecord).by_kit?.kit;
    if ([first!, ...others].some(({ id }) => id === kit)) found.push(fleet);
  }
  return found;
}
