import { sql } from "kysely";
import { type Queries, takeTurn, type Transacted } from "../../records/port.ts";
import { isoTime, own } from "./records.ts";

/** `begun_at` of an SBOM that no hub has begun to index. */
const NEVER = isoTime(0);
/** SBOMs that one look takes of each owner. */
const OF_EACH_OWNER = 20;

/** SBOM that waits to be indexed. */
export interface PendingList {
  id: number;
  blobId: string;
  /** Size in bytes. */
  size: number;
  /** Owner of its target, whose turn its indexing takes. */
  owner: string;
}

/**
 * Notes the SBOMs that are not known yet, as pending.
 *
 * @param projectId undefined for all
 */
export async function notePending(transaction: Transacted, projectId?: string): Promise<void> {
  // Rows are numbered by one transaction at a time.
  await takeTurn(transaction, "component_lists");
  await sql`
    insert into component_lists (id, blob_id, begun_at, is_complete)
    select (select coalesce(max(id), 0) from component_lists) + row_number() over (order by b.id), b.id, ${NEVER}, 0
    from blobs b
    where b.part = 'statement' and b.base_version = 'sbom'
      and not exists (select 1 from component_lists l where l.blob_id = b.id)
      ${projectId === undefined ? sql`` : sql`and b.project_id = ${projectId}`}`.execute(transaction);
}

/**
 * Lists pending SBOMs by turns of their owners: the first one of each owner, then the second one of each.
 *
 * @param sizes bytes of the SBOMs: above the first, and up to the second
 * @param last owner who had the last turn: those after it are first
 * @param before milliseconds since 1970: an indexing without a sign of life since then was interrupted
 */
export async function pendingByTurns(
  db: Queries,
  [above, upTo]: readonly [number, number],
  { last, before }: { last: string; before: number },
): Promise<PendingList[]> {
  const ranked = own(db)
    .selectFrom("component_lists as l")
    .innerJoin("blobs as b", "b.id", "l.blob_id")
    .innerJoin("projects as p", "p.id", "b.project_id")
    .select(["l.id", "l.blob_id", "b.size_bytes", "p.owner"])
    .select(sql<number>`row_number() over (partition by p.owner order by l.id)`.as("place"))
    .where("l.is_complete", "=", 0)
    .where("l.begun_at", "<", isoTime(before))
    .where("b.size_bytes", ">", above)
    .where("b.size_bytes", "<=", upTo);
  const rows = await db
    .selectFrom(ranked.as("r"))
    .select(["r.id", "r.blob_id", "r.size_bytes", "r.owner"])
    .where("r.place", "<=", OF_EACH_OWNER)
    .orderBy("r.place")
    .orderBy((eb) => eb.case().when("r.owner", ">", last).then(0).else(1).end())
    .orderBy("r.owner")
    .execute();
  return rows.map(({ id, blob_id: blobId, size_bytes: size, owner }) => {
    return { id: Number(id), blobId, size: Number(size), owner };
  });
}

/**
 * Claims a pending SBOM for this hub.
 *
 * @param before as in {@link pendingByTurns}
 * @returns false when another hub works on it, or it is gone
 */
export async function claim(
  db: Queries,
  { id }: Pick<PendingList, "id">,
  { now, before }: { now: number; before: number },
): Promise<boolean> {
  const { numUpdatedRows } = await own(db)
    .updateTable("component_lists")
    .set({ begun_at: isoTime(now) })
    .where("id", "=", id)
    .where("is_complete", "=", 0)
    .where("begun_at", "<", isoTime(before))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Gives a claimed SBOM back, so that the next process need not wait. */
export async function giveBack(db: Queries, id: number): Promise<void> {
  await own(db).updateTable("component_lists").set({ begun_at: NEVER }).where("id", "=", id).execute();
}
