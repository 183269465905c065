import type { ApiKeyRecord, Scope } from "../../contract/surfaces/keys.ts";
import { conflict, type HubError } from "../base/errors.ts";
import { hashOf, issue, recordId, shownPrefix } from "../base/identity.ts";
import { type Principal, scopesOf } from "../base/principal.ts";
import type { ApiKeysTable } from "./core-tables.ts";
import { type Ends, endsOfKey, endsOfNew, storedEnds } from "./ends.ts";
import { type Locked, locked } from "./locked.ts";
import { inTransaction, isPostgres, type Queries, type TransactedIn } from "./port.ts";
import type { Project } from "./projects.ts";
import { deleteWhere, given, selectWhere, updateWhere } from "./rows.ts";

/** API key, as it is stored. */
export type Key = ApiKeysTable;

/** Key to be issued. Whose it is and what it works for comes from rows that the transaction has locked. */
export interface NewKey<In> {
  name: string;
  /** Row whose owner gets the key: the key that makes it, its target, or its invite. */
  ownedAs: Locked<{ owner: string }, In>;
  /** Another owner, whom an administrator has named. */
  owner?: string | undefined;
  scopes: readonly Scope[];
  /** Only target that it works for; null for all of its owner's. */
  project: Locked<Project, In> | null;
  /** Only host that the key speaks for; null for any. */
  host: string | null;
  /** Ends that it inherits; without any it stands for itself. */
  ends: Ends;
  /** ISO 8601 in UTC, or null for never. */
  expiresAt: string | null;
}

export interface IssuedKey {
  record: ApiKeyRecord;
  key: string;
  credential: string | undefined;
}

export const keyRecord = (row: Key): ApiKeyRecord => ({
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

/** Reads a key as its own requests are judged by it. */
export const principalOfKey = (key: Key): Principal => ({
  keyId: key.id,
  owner: key.owner,
  scopes: scopesOf(key.scopes),
  projectId: key.project_id,
  host: key.host,
  expiresAt: key.expires_at,
});

/** Locks the rows of keys, in the order of their ids. */
export async function lockKeys<In>(transaction: TransactedIn<In>, facts: Partial<Key>): Promise<Locked<Key, In>[]> {
  const rows = await selectWhere(transaction, "api_keys", facts)
    .selectAll()
    .orderBy("id")
    .$if(isPostgres(transaction), (query) => query.forNoKeyUpdate())
    .execute();
  return rows.map((row) => locked(transaction, row));
}

const inUse = (what: string): HubError =>
  conflict(`The ${what} is in use already. A host makes a ${what} of its own for each invite.`);

/**
 * Issues a key, and a deployment credential for one that fetches artifacts of a project. Their secrets are only in the
 * answer.
 *
 * @param now milliseconds since 1970 @param secrets made by a host itself; new ones by default
 * @throws HubError 409 for a secret that is in use already
 */
export async function issueKey<In>(
  transaction: TransactedIn<In>,
  { name, ownedAs, owner = ownedAs.owner, scopes, project, host, ends, expiresAt }: NewKey<In>,
  now: number,
  secrets = { key: issue("key"), credential: issue("credential") },
): Promise<IssuedKey> {
  const { key } = secrets;
  const id = recordId("key", now);
  const row: Key = {
    ...{ id, name, owner, scopes: scopes.join(" "), project_id: project?.id ?? null, host },
    ...{ prefix: shownPrefix(key), hash: hashOf(key), acts_for: null, trusted_by: null },
    ...{ expires_at: expiresAt, revoked_at: null, created_at: new Date(now).toISOString(), last_used_at: null },
    ends: storedEnds(endsOfNew(id, ends)),
  };
  const added = transaction.insertInto("api_keys").values(row);
  const { numInsertedOrUpdatedRows: keys } = await added
    .onConflict((conflict) => conflict.column("hash").doNothing())
    .executeTakeFirst();
  if (keys !== 1n) throw inUse("key");
  if (project?.kind !== "project" || !scopes.includes("deploy"))
    return { record: keyRecord(row), key, credential: undefined };
  const { credential } = secrets;
  const facts = { hash: hashOf(credential), key_id: row.id, project_id: project.id, created_at: row.created_at };
  const { numInsertedOrUpdatedRows: credentials } = await transaction
    .insertInto("deployment_credentials")
    .values(facts)
    .onConflict((conflict) => conflict.column("hash").doNothing())
    .executeTakeFirst();
  if (credentials !== 1n) throw inUse("deployment credential");
  return { record: keyRecord(row), key, credential };
}

/**
 * Issues a key with the rights of another one, which still works until `endsAt`.
 *
 * @param project target of a bound key @param endsAt ISO 8601 @param now milliseconds since 1970
 */
export async function replaceKey<In>(
  transaction: TransactedIn<In>,
  old: Locked<Key, In>,
  { project, expiresAt, endsAt }: { project: Locked<Project, In> | null; expiresAt: string | null; endsAt: string },
  now: number,
): Promise<IssuedKey> {
  const { id, name, host } = old;
  const scopes = old.scopes.split(" ") as Scope[];
  const wanted = { name, ownedAs: old, scopes, project, host, ends: endsOfKey(old), expiresAt };
  const issued = await issueKey(transaction, wanted, now);
  await endKey(transaction, id, endsAt);
  return issued;
}

/** Keys that a caller may see: an owner's, all for an administrator, one project's for a bound key. */
export interface KeyView {
  owner: string | undefined;
  projectId: string | null;
}

export const visibleKeys = (db: Queries, { owner, projectId }: KeyView) =>
  selectWhere(db, "api_keys", given({ owner, project_id: projectId ?? undefined })).selectAll();

export async function findVisibleKey(db: Queries, view: KeyView, id: string): Promise<ApiKeyRecord | undefined> {
  const row = await visibleKeys(db, view).where("id", "=", id).executeTakeFirst();
  return row && keyRecord(row);
}

/** Returns the hash of the deployment credential of the key with a hash; undefined for none. */
export async function credentialOf(db: Queries, keyHash: string): Promise<string | undefined> {
  const row = await db
    .selectFrom("deployment_credentials as c")
    .innerJoin("api_keys as k", "k.id", "c.key_id")
    .where("k.hash", "=", keyHash)
    .select("c.hash")
    .executeTakeFirst();
  return row?.hash;
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

/**
 * Tells whether an API key that is not revoked speaks for a host alone: one of its project, of the owner of that, or of
 * the holder of the fleet in which it stands.
 */
export async function hasKeyOfItsOwn(
  db: Queries,
  { holder, projectId, hostId: host }: { holder: string; projectId: string; hostId: string },
): Promise<boolean> {
  const found = selectWhere(db, "api_keys", { host, revoked_at: null })
    .select("id")
    .where((eb) => {
      const owner = eb.selectFrom("projects").select("projects.owner").where("projects.id", "=", projectId);
      const ofOwner = eb.and([eb("project_id", "is", null), eb("owner", "=", owner)]);
      return eb.or([eb("project_id", "=", projectId), eb("owner", "=", holder), ofOwner]);
    });
  return (await found.limit(1).executeTakeFirst()) !== undefined;
}

/** Revokes all keys of a project that speak for a host, and their sessions. @returns their ids */
export async function revokeKeysOfHost<In>(
  transaction: TransactedIn<In>,
  { id: project_id }: Locked<Project, In>,
  host: string,
  now: string,
): Promise<string[]> {
  const keys = await lockKeys(transaction, { project_id, host, revoked_at: null });
  for (const { id } of keys) await revokeKey(transaction, id, now);
  return keys.map(({ id }) => id);
}

/** Sets the expiry of a key (ISO 8601), unless it expires earlier. */
async function endKey(db: Queries, id: string, at: string): Promise<void> {
  await updateWhere(db, "api_keys", { id })
    .set({ expires_at: at })
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", at)]))
    .execute();
}
