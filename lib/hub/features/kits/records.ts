import type { Expression, ExpressionBuilder, SqlBool } from "kysely";
import { hostFingerprint } from "../../../artifact/sealed/host-key.ts";
import type { KitHost, KitRecord } from "../../../contract/kits/records.ts";
import { isAdministrator, type Principal } from "../../base/principal.ts";
import { controls } from "../../base/rights.ts";
import type { PageRange, Queries, Transacted } from "../../records/port.ts";
import { findProject, type Project } from "../../records/projects.ts";
import { deleteWhere, selectWhere, updateWhere } from "../../records/rows.ts";
import { subjectOf, targetOfSubject } from "../../records/subjects.ts";
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

/** Returns the condition for the kits of a project, plugin or service: those of its versions, and for its hosts. */
export const isOf =
  (projectId: string) =>
  (eb: ExpressionBuilder<{ kits: KitsTable }, "kits">): Expression<SqlBool> =>
    eb.or([eb("kits.project_id", "=", projectId), eb("kits.hosts_project_id", "=", projectId)]);

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
  const rows = await own(db)
    .selectFrom("kits")
    .innerJoin("projects as p", "p.id", "kits.project_id")
    .selectAll("kits")
    .select(["p.kind", "p.slug"])
    .where(isOf(projectId))
    .$if(after !== "", (query) => query.where("kits.id", "<", after))
    .$if(owner !== undefined, (query) => query.where("kits.owner", "=", owner!))
    .$if(liveAt !== undefined, (query) => query.where("kits.ended_at", "is", null).where("kits.ends_at", ">", liveAt!))
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
    .orderBy("kits.id", "desc")
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
  return rows.map(({ project_id: id, holder: _holder, owner: _owner, kind, slug, ...kit }) => ({
    ...kit,
    target: targetOfSubject(subjectOf({ id, kind, slug })),
    hosts: (ofKit.get(kit.id) ?? []).map(({ kit_id: _, ...each }) => each),
  }));
}

/** Kit with what it is of and for. */
export interface FoundKit {
  kit: KitsTable;
  /** Project, plugin or service. */
  target: Project;
  /** Project of its hosts, for a plugin or service; undefined where none is named. */
  hostsProject: Project | undefined;
}

export async function findKit(db: Queries, id: string): Promise<FoundKit | undefined> {
  const kit = await selectWhere(own(db), "kits", { id }).selectAll().executeTakeFirst();
  const target = kit && (await findProject(db, kit.project_id));
  if (kit === undefined || target === undefined) return undefined;
  const { hosts_project_id: hostsProjectId } = kit;
  return { kit, target, hostsProject: hostsProjectId === null ? undefined : await findProject(db, hostsProjectId) };
}

/**
 * Returns the owner whose kits of a target a key sees; undefined for those of all. Kits of a plugin or service are as
 * private as its fleets: also its author sees only the own ones.
 */
export const seenOwner = (principal: Principal, target: Project): string | undefined =>
  isAdministrator(principal) || (target.kind === "project" && controls(principal, target))
    ? undefined
    : principal.owner;

/** Returns the project, plugin or service by which a key acts on a kit: what it is of, or the project of its hosts. */
export function actingFor(principal: Principal, { kit, target, hostsProject }: FoundKit): Project | undefined {
  const owner = seenOwner(principal, target);
  if (controls(principal, target) && (owner ?? kit.owner) === kit.owner) return target;
  return hostsProject !== undefined && controls(principal, hostsProject) ? hostsProject : undefined;
}

/**
 * Tells whether a key acts on a kit: on those of a project that it controls and for the hosts of one, and on the own
 * ones of a plugin or service: their reports go into a fleet of its own.
 */
export const actsOn = (principal: Principal, found: FoundKit): boolean =>
  actingFor(principal, found) !== undefined ||
  (found.target.kind !== "project" && principal.projectId === null && found.kit.owner === principal.owner);

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

/** Days for which a kit is kept after hosts take it no more: until then its reports may come back. */
const KEPT_DAYS = 366;

/** Removes kits that ended long ago. Reports that came back by them stay. @param now milliseconds since 1970 */
export async function removeOldKits(db: Queries, now: number): Promise<void> {
  const before = new Date(now - KEPT_DAYS * 24 * 60 * 60 * 1000).toISOString();
  await own(db).deleteFrom("kits").where("ends_at", "<", before).execute();
}

/** Removes the kits of the versions of a project, plugin or service. */
export async function forgetKits(transaction: Transacted, projectId: string): Promise<void> {
  await deleteWhere(own(transaction), "kits", { project_id: projectId }).execute();
}
