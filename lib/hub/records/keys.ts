import type { Selectable } from "kysely";
import type { ApiKeyRecord, Scope } from "../../contract/surfaces/keys.ts";
import { hashOf, issue, recordId, shownPrefix } from "../base/identity.ts";
import { scopesOf } from "../base/principal.ts";
import type { ApiKeysTable } from "./core-tables.ts";
import { inTransaction, type PageRange, type Queries, type Transacted } from "./port.ts";
import { deleteWhere, given, selectWhere, updateWhere } from "./rows.ts";

export interface NewKey {
  name: string;
  owner: string;
  scopes: readonly Scope[];
  projectId: string | null;
  /** Only host that the key speaks for; null for any. */
  host: string | null;
  /** Actor behind it, in the form of {@link actorOfKey}; null for the key itself. */
  actsFor: string | null;
  /** The actor who has trusted the workflow that gets it. */
  trustedBy?: string | null;
  /** ISO 8601 in UTC, or null for never. */
  expiresAt: string | null;
  /** Whether to make a deployment credential, too: for a key bound to a project of surface B. */
  withCredential: boolean;
}

export interface IssuedKey {
  record: ApiKeyRecord;
  key: string;
  credential: string | undefined;
}

export const keyRecord = (row: Selectable<ApiKeysTable>): ApiKeyRecord => ({
  id: row.id,
  name: row.name,
  owner: row.owner,
  scopes: row.scopes.split(" ") as Scope[],
  project_id: row.project_id,
  host: row.host,
  prefix: row.prefix,
  expires_at: row.expires_at,
  revoked_at: row.revoked_at,
  created_at: row.created_at,
  last_used_at: row.last_used_at,
});

/**
 * Issues a key, and a deployment credential if requested. Their secrets are only in the answer.
 *
 * @param secrets made by a host itself; new ones by default
 */
export async function issueKey(
  db: Queries,
  wanted: NewKey,
  now: number,
  secrets = { key: issue("key"), credential: issue("credential") },
): Promise<IssuedKey> {
  const { key } = secrets;
  const credential = wanted.withCredential ? secrets.credential : undefined;
  const createdAt = new Date(now).toISOString();
  const row = {
    id: recordId("key", now),
    name: wanted.name,
    owner: wanted.owner,
    scopes: wanted.scopes.join(" "),
    project_id: wanted.projectId,
    host: wanted.host,
    prefix: shownPrefix(key),
    hash: hashOf(key),
    acts_for: wanted.actsFor,
    trusted_by: wanted.trustedBy ?? null,
    expires_at: wanted.expiresAt,
    revoked_at: null,
    created_at: createdAt,
    last_used_at: null,
  };
  await inTransaction(db, async (transaction) => {
    await transaction.insertInto("api_keys").values(row).execute();
    if (credential !== undefined && wanted.projectId !== null) {
      await transaction
        .insertInto("deployment_credentials")
        .values({ hash: hashOf(credential), key_id: row.id, project_id: wanted.projectId, created_at: createdAt })
        .execute();
    }
  });
  return { record: keyRecord(row), key, credential };
}

/**
 * Returns the actor behind a key: a person, a workflow run, or the key itself. Keys issued by an owner's key, and keys
 * that replaced it, act for the same actor.
 */
export const actorOfKey = ({ id, acts_for }: Pick<ApiKeysTable, "id" | "acts_for">): string => acts_for ?? `key:${id}`;

/** Reads who acts by a key, as {@link actorOfKey} names it. */
export const actorOf = async (db: Queries, id: string): Promise<string> => (await actorsOf(db, id)).actor;

/** Reads who acts by a key, and who has trusted its workflow. */
export async function actorsOf(db: Queries, id: string): Promise<{ actor: string; trustedBy: string | null }> {
  const row = await selectWhere(db, "api_keys", { id }).select(["acts_for", "trusted_by"]).executeTakeFirst();
  return { actor: actorOfKey({ id, acts_for: row?.acts_for ?? null }), trustedBy: row?.trusted_by ?? null };
}

/**
 * Reads who stands behind what a key hands on: nobody for an administrator's key that no person acts by, since
 * administrators issue the keys of different people.
 */
export async function grantorOf(db: Queries, id: string): Promise<string | null> {
  const row = await selectWhere(db, "api_keys", { id }).select(["acts_for", "scopes", "project_id"]).executeTakeFirst();
  const actor = actorOfKey({ id, acts_for: row?.acts_for ?? null });
  const isOffice = row?.project_id === null && scopesOf(row.scopes).has("admin") && actor.startsWith("key:");
  return isOffice ? null : actor;
}

/** Keys that a caller may see: an owner's, all for an administrator, one project's for a bound key. */
export interface KeyView {
  owner: string | undefined;
  projectId: string | null;
}

const visibleKeys = (db: Queries, { owner, projectId }: KeyView) =>
  selectWhere(db, "api_keys", given({ owner, project_id: projectId ?? undefined })).selectAll();

export async function listKeys(db: Queries, view: KeyView, { after, limit }: PageRange): Promise<ApiKeyRecord[]> {
  const rows = await visibleKeys(db, view).where("id", ">", after).orderBy("id").limit(limit).execute();
  return rows.map(keyRecord);
}

export async function findVisibleKey(db: Queries, view: KeyView, id: string): Promise<ApiKeyRecord | undefined> {
  const row = await visibleKeys(db, view).where("id", "=", id).executeTakeFirst();
  return row && keyRecord(row);
}

/**
 * Revokes a key, and with it its sessions and its deployment credential, which are looked up through the key.
 *
 * @returns false when it was revoked before
 */
export function revokeKey(db: Queries, id: string, now: string): Promise<boolean> {
  return inTransaction(db, async (transaction) => {
    const revoked = updateWhere(transaction, "api_keys", { id, revoked_at: null }).set({ revoked_at: now });
    const { numUpdatedRows } = await revoked.executeTakeFirst();
    await deleteWhere(transaction, "sessions", { key_id: id }).execute();
    return numUpdatedRows > 0n;
  });
}

/** Revokes all keys of a project that speak for a host, and their sessions. @returns their ids */
export async function revokeKeysOfHost(
  transaction: Transacted,
  { project_id, host }: { project_id: string; host: string },
  now: string,
): Promise<string[]> {
  const keys = await selectWhere(transaction, "api_keys", { project_id, host, revoked_at: null })
    .select("id")
    .execute();
  for (const { id } of keys) await revokeKey(transaction, id, now);
  return keys.map(({ id }) => id);
}

/** Sets the expiry of a key (ISO 8601), unless it expires earlier. */
export async function endKey(db: Queries, id: string, at: string): Promise<void> {
  await updateWhere(db, "api_keys", { id })
    .set({ expires_at: at })
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", at)]))
    .execute();
}

/** Prefix of the keys of people authenticated by an identity provider, whose secrets are never handed out. */
const PERSON_PREFIX = "web";

/** Key behind a person's sessions. */
export interface PersonKey {
  id: string;
  hash: string;
  /** Ids of the person's keys with other rights, which were revoked. */
  replaced: string[];
}

/**
 * Issues a key with these rights to a person, or extends the existing one. It is listed and revoked like any key. Keys
 * with other rights are revoked: the identity provider has just stated the person's rights.
 *
 * @param wanted name identifies the person
 */
export async function keyOfPerson(
  transaction: Transacted,
  wanted: Omit<NewKey, "host" | "actsFor" | "trustedBy" | "withCredential">,
  now: number,
): Promise<PersonKey> {
  const { name, owner, projectId: project_id, expiresAt: expires_at } = wanted;
  const scopes = wanted.scopes.join(" ");
  const facts = { name, owner, scopes, project_id, prefix: PERSON_PREFIX, revoked_at: null };
  const known = await updateWhere(transaction, "api_keys", facts)
    .set({ expires_at })
    .returning(["id", "hash"])
    .executeTakeFirst();
  const key = known ?? { id: recordId("key", now), hash: hashOf(issue("key")) };
  const replaced = await revokeKeysOfPerson(transaction, name, now, key.id);
  if (known !== undefined) return { ...known, replaced };
  const values = {
    ...key,
    ...facts,
    host: null,
    acts_for: `person:${name}`,
    trusted_by: null,
    expires_at,
    created_at: new Date(now).toISOString(),
    last_used_at: null,
  };
  await transaction.insertInto("api_keys").values(values).execute();
  return { ...key, replaced };
}

/**
 * Revokes the keys of a person authenticated by an identity provider, and their sessions.
 *
 * @param kept id of the one that stays
 * @returns the ids of those that were revoked
 */
export async function revokeKeysOfPerson(
  transaction: Transacted,
  name: string,
  now: number,
  kept = "",
): Promise<string[]> {
  const keys = await selectWhere(transaction, "api_keys", { name, prefix: PERSON_PREFIX, revoked_at: null })
    .select("id")
    .where("id", "!=", kept)
    .execute();
  for (const { id } of keys) await revokeKey(transaction, id, new Date(now).toISOString());
  return keys.map(({ id }) => id);
}

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
