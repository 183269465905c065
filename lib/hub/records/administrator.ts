import { hashOf, shownPrefix } from "../base/identity.ts";
import { endsOfNew, storedEnds } from "./ends.ts";
import { inTransaction, type Queries } from "./port.ts";
import { deleteWhere, selectWhere } from "./rows.ts";

/** Fixed id of the first administrator key, so that two hubs of one database make only one. */
export const ADMIN_KEY = "key_admin";

/** Returns the SHA-256 of the first start's administrator key, or undefined before the first start. */
export async function adminKeyHash(db: Queries): Promise<string | undefined> {
  const row = await selectWhere(db, "api_keys", { id: ADMIN_KEY }).select("hash").executeTakeFirst();
  return row?.hash;
}

const adminRow = (key: string, now: string) => ({
  id: ADMIN_KEY,
  name: "administrator",
  owner: "admin",
  scopes: "admin",
  project_id: null,
  host: null,
  prefix: shownPrefix(key),
  hash: hashOf(key),
  acts_for: null,
  trusted_by: null,
  expires_at: null,
  revoked_at: null,
  created_at: now,
  last_used_at: null,
  ends: storedEnds(endsOfNew(ADMIN_KEY, [])),
});

/** Registers the first administrator key. @returns false when there is one already */
export async function insertAdminKey(db: Queries, key: string, now: string): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("api_keys")
    .values(adminRow(key, now))
    .onConflict((conflict) => conflict.column("id").doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

/** Replaces the secret of the first administrator key; its sessions end. */
export async function replaceAdminKey(db: Queries, key: string, now: string): Promise<void> {
  const { id, ...fields } = adminRow(key, now);
  await inTransaction(db, async (transaction) => {
    await transaction
      .insertInto("api_keys")
      .values({ id, ...fields })
      .onConflict((conflict) => conflict.column("id").doUpdateSet(fields))
      .execute();
    await deleteWhere(transaction, "sessions", { key_id: id }).execute();
  });
}
