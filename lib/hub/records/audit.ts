import type { Deed, Facts } from "../../contract/audit-actions.ts";
import type { AuditRecord } from "../../contract/surfaces/keys.ts";
import { recordId } from "../base/identity.ts";
import { runAuditHooks } from "./hooks.ts";
import type { PageRange, Queries } from "./port.ts";
import { given, newestWhere } from "./rows.ts";

/** Person and request behind a deed. */
type Origin = Pick<AuditRecord, "actor" | "key_id" | "address" | "request_id">;

/** Audit entry, without its id and time. */
export type AuditEntry = Deed & Origin & { subject: string };

/** Actor of commands that an operator runs on the hub's own storage. */
export const BY_HAND = { actor: "operator", key_id: "", address: "", request_id: "" } as const;

/** Actor of what a hub does by itself. */
export const BY_HUB = { actor: "hub", key_id: "", address: "", request_id: "" } as const;

/**
 * Writes an entry, and runs the hooks of all features for it.
 *
 * @param now milliseconds since 1970
 * @param more facts about the request, which any entry may have
 */
export async function insertAudit(db: Queries, entry: AuditEntry, now: number, more: Facts = {}): Promise<void> {
  const row = { ...entry, facts: JSON.stringify({ ...entry.facts, ...more }) };
  await db
    .insertInto("audit")
    .values({ id: recordId("aud", now), created_at: new Date(now).toISOString(), ...row })
    .execute();
  await runAuditHooks(db, entry, now);
}

export interface AuditFilters {
  /** Earliest time, inclusive; ISO 8601 in UTC. */
  since: string | undefined;
  /** Latest time, exclusive; ISO 8601 in UTC. */
  until: string | undefined;
  action: string | undefined;
  actor: string | undefined;
}

/** Lists entries, newest first; pages are by id, which sorts by time. */
export async function listAudit(
  db: Queries,
  { since, until, ...facts }: AuditFilters,
  range: PageRange,
): Promise<AuditRecord[]> {
  const rows = await newestWhere(db, "audit", given(facts), range)
    .selectAll()
    .$if(since !== undefined, (query) => query.where("created_at", ">=", since!))
    .$if(until !== undefined, (query) => query.where("created_at", "<", until!))
    .execute();
  return rows.map((row) => ({ ...row, facts: JSON.parse(row.facts) as AuditRecord["facts"] }));
}

/** Removes entries older than a time. @returns how many */
export async function removeAudit(db: Queries, before: string): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom("audit").where("created_at", "<", before).executeTakeFirst();
  return Number(numDeletedRows);
}
