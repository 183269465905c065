import { sql } from "kysely";
import type { JoinedHost, JoinedQuery } from "../../../contract/joining/records.ts";
import { BY_HUB, insertAudit } from "../../records/audit.ts";
import { labelsOf, type StoredRecord } from "../../records/host-columns.ts";
import { isCalledAnyOf, isKnownHost, type NamedHost as Named, namesakeOf } from "../../records/host-names.ts";
import { forgetHost, renameHost } from "../../records/host-rows.ts";
import { lockKeys, revokeKeysOfHost } from "../../records/keys.ts";
import type { Locked } from "../../records/locked.ts";
import { inTransaction, type PageRange, type Queries, type Transacted, type TransactedIn } from "../../records/port.ts";
import type { Project } from "../../records/projects.ts";
import { deleteWhere, selectWhere, updateWhere } from "../../records/rows.ts";
import { isRevoked } from "./invite-records.ts";
import { clonesOf, heardOf, type Machine } from "./machines.ts";
import { type JoinedHostsTable, own } from "./tables.ts";

/**
 * Lists the hosts of a project by name, with their facts from the fleet view.
 *
 * @param only with a field, only hosts that have its value @param now ISO 8601
 */
export async function listJoined(
  db: Queries,
  projectId: string,
  { state, host_id: host, invite_id: invite }: JoinedQuery,
  { after, limit }: PageRange,
  now: string,
): Promise<JoinedHost[]> {
  const rows = await own(db)
    .selectFrom("joined_hosts as j")
    .leftJoin("hosts as h", (join) =>
      join.on("h.holder", "=", "").onRef("h.target", "=", "j.project_id").onRef("h.host_id", "=", "j.host_id"),
    )
    .select(["j.host_id", "j.state", "j.invite_id", "j.address", "j.created_at", "j.machines"])
    .select(["h.heard_at", "h.shown_version as version", "h.record", "h.labels"])
    .select((eb) =>
      eb
        .exists(
          eb
            .selectFrom("api_keys as k")
            .select(sql`1`.as("one"))
            .whereRef("k.project_id", "=", "j.project_id")
            .whereRef("k.host", "=", "j.host_id")
            .where("k.revoked_at", "is", null)
            .where((or) => or.or([or("k.expires_at", "is", null), or("k.expires_at", ">", now)])),
        )
        .as("has_key"),
    )
    .where("j.project_id", "=", projectId)
    .$if(state !== undefined, (query) => query.where("j.state", "=", state!))
    .$if(host !== undefined, (query) => query.where("j.host_id", "=", host!))
    .$if(invite !== undefined, (query) => query.where("j.invite_id", "=", invite!))
    .where("j.host_id", ">", after)
    .orderBy("j.host_id")
    .limit(limit)
    .execute();
  return rows.map(({ has_key: hasKey, record, labels, state, machines, ...row }) => ({
    ...row,
    state: state === "joined" && !hasKey ? "ended" : state,
    labels: record === null ? {} : labelsOf(JSON.parse(record) as StoredRecord, labels),
    clones: clonesOf(JSON.parse(machines) as Machine[], Date.parse(now)),
  }));
}

/**
 * Records a host whose key was made by hand. Leaves a host that has joined or is waiting as it is. @param now ISO 8601
 */
export async function noteByHand(db: Queries, named: Named, now: string): Promise<void> {
  const made = {
    invite_id: null,
    key_hash: null,
    state: "joined",
    address: "",
    created_at: now,
    machines: "[]",
  } as const;
  await insert(db, { ...named, ...made });
}

/** Inserts a host. @returns false when another host has its name or its key */
async function insert(db: Queries, host: JoinedHostsTable): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await own(db)
    .insertInto("joined_hosts")
    .values(host)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

/** Returns the host, of any project, that has joined or waits with a key. @param keyHash SHA-256, hexadecimal */
export const hostWithKey = (transaction: Transacted, keyHash: string): Promise<JoinedHostsTable | undefined> =>
  selectWhere(own(transaction), "joined_hosts", { key_hash: keyHash }).selectAll().executeTakeFirst();

/** Marks an approved host as joined, and locks its row. @returns undefined for a host that was not approved */
export const enter = (
  transaction: Transacted,
  projectId: string,
  keyHash: string | null,
): Promise<Pick<JoinedHostsTable, "host_id"> | undefined> =>
  updateWhere(own(transaction), "joined_hosts", { project_id: projectId, key_hash: keyHash, state: "approved" })
    .set({ state: "joined" })
    .returning("host_id")
    .executeTakeFirst();

/**
 * Approves a host, unless its invite was revoked: that ends for everybody.
 *
 * @returns its previous state, or `revoked`; undefined for an unknown host
 */
export async function approveJoined(
  transaction: Transacted,
  named: Named,
): Promise<JoinedHostsTable["state"] | "revoked" | undefined> {
  const host = await selectWhere(own(transaction), "joined_hosts", named)
    .select(["state", "invite_id"])
    .executeTakeFirst();
  if (host?.state !== "pending") return host?.state;
  if (host.invite_id !== null && (await isRevoked(transaction, host.invite_id))) return "revoked";
  const approved = await updateWhere(own(transaction), "joined_hosts", { ...named, state: "pending" })
    .set({ state: "approved" })
    .returning("host_id")
    .executeTakeFirst();
  return approved === undefined ? approveJoined(transaction, named) : "pending";
}

/**
 * Revokes the keys that speak for a host, and removes it from the fleet.
 *
 * @returns how many keys were revoked; undefined for an unknown host
 */
export async function remove<In>(
  transaction: TransactedIn<In>,
  project: Locked<Project, In>,
  host_id: string,
  now: string,
): Promise<number | undefined> {
  const named = { project_id: project.id, host_id };
  if (!(await isKnownHost(transaction, named))) return undefined;
  const keys = await revokeKeysOfHost(transaction, project, host_id, now);
  await deleteWhere(own(transaction), "joined_hosts", named).execute();
  await forgetHost(transaction, { holder: "", target: project.id }, host_id);
  return keys.length;
}

/**
 * Adds a host that has joined or waits.
 *
 * @param before its name so far, where it gets another one
 * @returns the host that has its name already, as {@link namesakeOf}; undefined when it was added
 */
export async function add(
  transaction: Transacted,
  host: JoinedHostsTable,
  before?: string,
): Promise<string | undefined> {
  const except = before === undefined ? [] : [before];
  const other = await namesakeOf(transaction, host.project_id, [host.host_id], except);
  if (other !== undefined) return other;
  return (await insert(transaction, host)) ? undefined : host.host_id;
}

/** Returns the hosts of a project that have joined or wait under one of the names, in any case of A to Z. */
export async function joinedCalled(db: Queries, project_id: string, names: readonly string[]): Promise<string[]> {
  const joined = selectWhere(own(db), "joined_hosts", { project_id }).select("host_id").where(isCalledAnyOf(names));
  return (await joined.execute()).map(({ host_id: name }) => name);
}

/**
 * Gives a host another name, by which the fleet has it from then on, and for which its keys speak. It may be one that
 * has never joined, and only kits know.
 *
 * @returns undefined for an unknown host; the name of the host that has the new name already; false for its own name,
 *   which changes nothing
 */
export async function rename<In>(
  transaction: TransactedIn<In>,
  { id: project_id }: Locked<Project, In>,
  { from: host_id, to }: { from: string; to: string },
): Promise<string | boolean | undefined> {
  const named = { project_id, host_id };
  await lockKeys(transaction, { project_id, host: host_id });
  if (!(await isKnownHost(transaction, named))) return undefined;
  if (to === host_id) return false;
  const joined = await deleteWhere(own(transaction), "joined_hosts", named).returningAll().executeTakeFirst();
  const other =
    joined === undefined
      ? await namesakeOf(transaction, project_id, [to], [host_id])
      : await add(transaction, { ...joined, host_id: to }, host_id);
  if (other !== undefined) return other;
  await updateWhere(transaction, "api_keys", { project_id, host: host_id }).set({ host: to }).execute();
  await renameHost(transaction, { holder: "", target: project_id }, host_id, to);
  return true;
}

/** Machine that has spoken for a host. */
export interface Heard extends Named {
  machine: Omit<Machine, "again">;
}

/** Hosts read by one statement. */
const BATCH = 200;

/**
 * Stores which machines speak for hosts, and writes an audit entry for a clone. Only reads the row of a host whose
 * machine has not changed.
 *
 * @param heard in chronological order @param now milliseconds since 1970
 */
export async function noteMachines(db: Queries, heard: readonly Heard[], now: number): Promise<void> {
  for (const [projectId, ofProject] of Map.groupBy(heard, ({ project_id: id }) => id)) {
    const hosts = [...Map.groupBy(ofProject, ({ host_id: id }) => id)];
    for (let start = 0; start < hosts.length; start += BATCH) {
      const batch = new Map(hosts.slice(start, start + BATCH));
      const rows = await selectWhere(own(db), "joined_hosts", { project_id: projectId })
        .where("host_id", "in", [...batch.keys()])
        .select(["host_id", "machines"])
        .execute();
      for (const { host_id, machines } of rows) {
        const spoken = batch.get(host_id)!;
        const [last] = JSON.parse(machines) as Machine[];
        if (spoken.some(({ machine }) => machine.instance !== last?.instance))
          await inTransaction(db, (transaction) => noteTurns(transaction, spoken, now));
      }
    }
  }
}

/** Stores the machines of one host. @param spoken in chronological order */
async function noteTurns(transaction: Transacted, spoken: readonly Heard[], now: number): Promise<void> {
  const { project_id, host_id } = spoken[0]!;
  // The row is the lock: two hubs may record the same change.
  const row = await updateWhere(own(transaction), "joined_hosts", { project_id, host_id })
    .set((eb) => ({ machines: eb.ref("machines") }))
    .returning("machines")
    .executeTakeFirst();
  if (row === undefined) return;
  const before = JSON.parse(row.machines) as Machine[];
  const machines = spoken.reduce((known, { machine }) => heardOf(known, machine), before);
  await updateWhere(own(transaction), "joined_hosts", { project_id, host_id })
    .set({ machines: JSON.stringify(machines) })
    .execute();
  const clones = clonesOf(machines, now);
  if (clones.length === 0 || clonesOf(before, now).length > 0) return;
  const facts = { host_id, addresses: clones.map(({ address }) => address).join(" ") };
  await insertAudit(transaction, { action: "host.clone", subject: project_id, facts, ...BY_HUB }, now);
}

/** Removes everything that joining keeps of a project being deleted. */
export async function forgetProject(transaction: Transacted, projectId: string): Promise<void> {
  for (const table of ["joined_hosts", "host_invites"] as const)
    await deleteWhere(own(transaction), table, { project_id: projectId }).execute();
}
