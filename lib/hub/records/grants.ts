import type { GrantRecord } from "../../contract/surfaces/marketplace.ts";
import type { PageRange, Queries } from "./port.ts";
import { deleteWhere, selectWhere } from "./rows.ts";

/** Lets an owner's keys see a private target; repeating it keeps the first grant. @returns the grant that it has now */
export async function addGrant(
  db: Queries,
  targetId: string,
  owner: string,
  now: string,
): Promise<{ grant: GrantRecord; isNew: boolean }> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("grants")
    .values({ target_id: targetId, grantee: owner, created_at: now })
    .onConflict((conflict) => conflict.columns(["target_id", "grantee"]).doNothing())
    .executeTakeFirst();
  const grant = await selectWhere(db, "grants", { target_id: targetId, grantee: owner })
    .select(["grantee as owner", "created_at"])
    .executeTakeFirstOrThrow();
  return { grant, isNew: numInsertedOrUpdatedRows === 1n };
}

/** Removes a grant. @returns false when there was none */
export async function removeGrant(db: Queries, targetId: string, owner: string): Promise<boolean> {
  const facts = { target_id: targetId, grantee: owner };
  const { numDeletedRows } = await deleteWhere(db, "grants", facts).executeTakeFirst();
  return numDeletedRows > 0n;
}

export function listGrants(db: Queries, targetId: string, { after, limit }: PageRange): Promise<GrantRecord[]> {
  return selectWhere(db, "grants", { target_id: targetId })
    .select(["grantee as owner", "created_at"])
    .where("grantee", ">", after)
    .orderBy("grantee")
    .limit(limit)
    .execute();
}
