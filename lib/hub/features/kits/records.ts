import { hostFingerprint } from "../../../artifact/sealed/host-key.ts";
import type { KitHost, KitRecord } from "../../../contract/kits/records.ts";
import type { Principal } from "../../base/principal.ts";
import { controls } from "../../base/rights.ts";
import type { PageRange, Queries, Transacted } from "../../records/port.ts";
import type { Project } from "../../records/projects.ts";
import { deleteWhere, selectWhere, updateWhere } from "../../records/rows.ts";
import { type KitHostsTable, type KitsTable, own } from "./tables.ts";

/** Keeps a kit with its hosts. */
export async function storeKit(transaction: Transacted, kit: KitsTable, hosts: readonly KitHost[]): Promise<void> {
  await own(transaction).insertInto("kits").values(kit).execute();
  const rows = hosts.map((host) => ({
    ...{ kit_id: kit.id, fingerprint: hostFingerprint(host), removed_at: null },
    ...host,
  }));
  await own(transaction).insertInto("kit_hosts").values(rows).execute();
}

/** Kits to list. */
export interface AskedKits {
  projectId: string;
  /** Only owner whose kits are listed; undefined for all. */
  owner: string | undefined;
  /** Only host; undefined for all. */
  host: string | undefined;
  /** Time at which listed kits have not ended, ISO 8601; undefined for all. */
  liveAt: string | undefined;
}

/** Lists kits, newest first, and the hosts of each. */
export async function listKits(
  db: Queries,
  { projectId, owner, host, liveAt }: AskedKits,
  { after, limit }: PageRange,
): Promise<KitRecord[]> {
  const rows = await selectWhere(own(db), "kits", { project_id: projectId })
    .selectAll()
    .$if(after !== "", (query) => query.where("id", "<", after))
    .$if(owner !== undefined, (query) => query.where("owner", "=", owner!))
    .$if(liveAt !== undefined, (query) => query.where("ended_at", "is", null).where("ends_at", ">", liveAt!))
    .$if(host !== undefined, (query) =>
      query.where((eb) =>
        eb.exists(
          eb
            .selectFrom("kit_hosts as h")
            .select("h.host_id")
            .whereRef("h.kit_id", "=", "kits.id")
            .where("h.host_id", "=", host!),
        ),
      ),
    )
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
  if (rows.length === 0) return [];
  const hosts = await own(db)
    .selectFrom("kit_hosts")
    .select(["kit_id", "host_id", "fingerprint", "removed_at"])
    .where(
      "kit_id",
      "in",
      rows.map(({ id }) => id),
    )
    .orderBy("host_id")
    .execute();
  const ofKit = Map.groupBy(hosts, ({ kit_id }) => kit_id);
  return rows.map(({ project_id: _project, holder: _holder, owner: _owner, ...kit }) => ({
    ...kit,
    hosts: (ofKit.get(kit.id) ?? []).map(({ kit_id: _, ...each }) => each),
  }));
}

/**
 * Tells whether a key acts on a kit: on all of a target that it controls, and on the own kits of a plugin or service
 * that it only sees: their reports go into a fleet of its own.
 */
export const actsOn = (principal: Principal, kit: KitsTable, project: Project): boolean =>
  controls(principal, project) ||
  (project.kind !== "project" && principal.projectId === null && kit.owner === principal.owner);

export const findKit = (db: Queries, id: string): Promise<KitsTable | undefined> =>
  selectWhere(own(db), "kits", { id }).selectAll().executeTakeFirst();

export const findKitHost = (db: Queries, kitId: string, fingerprint: string): Promise<KitHostsTable | undefined> =>
  selectWhere(own(db), "kit_hosts", { kit_id: kitId, fingerprint }).selectAll().executeTakeFirst();

/** Marks a kit as ended. @returns whether it was live */
export async function endKit(transaction: Transacted, id: string, now: string): Promise<boolean> {
  const ended = await updateWhere(own(transaction), "kits", { id, ended_at: null })
    .set({ ended_at: now })
    .returning("id")
    .execute();
  return ended.length > 0;
}

/** Changes the hosts of one name in all kits of a project. */
export async function changeHosts(
  db: Queries,
  projectId: string,
  hostId: string,
  columns: Partial<Pick<KitHostsTable, "host_id" | "removed_at">>,
): Promise<void> {
  await own(db)
    .updateTable("kit_hosts")
    .set(columns)
    .where("host_id", "=", hostId)
    .where("kit_id", "in", (eb) => eb.selectFrom("kits").select("id").where("project_id", "=", projectId))
    .execute();
}

/** Tells whether a kit of a project is for a host that was not removed. */
export async function hasHost(db: Queries, projectId: string, hostId: string): Promise<boolean> {
  const found = own(db)
    .selectFrom("kit_hosts")
    .select("kit_id")
    .where("host_id", "=", hostId)
    .where("removed_at", "is", null)
    .where("kit_id", "in", (eb) => eb.selectFrom("kits").select("id").where("project_id", "=", projectId));
  return (await found.limit(1).executeTakeFirst()) !== undefined;
}

/** Removes the kits of a project, plugin or service that is being deleted. */
export async function forgetKits(transaction: Transacted, projectId: string): Promise<void> {
  await own(transaction)
    .deleteFrom("kit_hosts")
    .where("kit_id", "in", (eb) => eb.selectFrom("kits").select("id").where("project_id", "=", projectId))
    .execute();
  await deleteWhere(own(transaction), "kits", { project_id: projectId }).execute();
}
