import type { Scope } from "../../contract/surfaces/keys.ts";
import { hashOf, issue, recordId } from "../base/identity.ts";
import { personEnd, storedEnds } from "./ends.ts";
import { lockKeys, revokeKey } from "./keys.ts";
import type { Locked } from "./locked.ts";
import type { Transacted, TransactedIn } from "./port.ts";
import type { Project } from "./projects.ts";
import { updateWhere } from "./rows.ts";

/** Prefix of the keys of people authenticated by an identity provider, whose secrets are never handed out. */
const PERSON_PREFIX = "web";

/** Key behind a person's sessions. */
export interface PersonKey {
  id: string;
  hash: string;
  /** Ids of the person's keys with other rights, which were revoked. */
  replaced: string[];
}

/** Rights of a person, as the identity provider has just stated them. */
interface PersonRights<In> {
  /** Name that identifies the person. */
  name: string;
  owner: string;
  scopes: readonly Scope[];
  /** Only project that the person works for; null for all of the owner's. */
  project: Locked<Project, In> | null;
  /** ISO 8601 in UTC. */
  expiresAt: string;
}

/**
 * Issues a key with these rights to a person, or extends the existing one. It is listed and revoked like any key. Keys
 * with other rights are revoked: the identity provider has just stated the person's rights.
 */
export async function keyOfPerson<In>(
  transaction: TransactedIn<In>,
  { name, owner, project, expiresAt: expires_at, ...wanted }: PersonRights<In>,
  now: number,
): Promise<PersonKey> {
  const project_id = project?.id ?? null;
  const scopes = wanted.scopes.join(" ");
  const facts = { name, owner, scopes, project_id, prefix: PERSON_PREFIX, revoked_at: null };
  await lockKeys(transaction, { name, prefix: PERSON_PREFIX, revoked_at: null });
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
    acts_for: null,
    trusted_by: null,
    expires_at,
    created_at: new Date(now).toISOString(),
    last_used_at: null,
    ends: storedEnds([personEnd(name)]),
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
  const keys = await lockKeys(transaction, { name, prefix: PERSON_PREFIX, revoked_at: null });
  const ended = keys.map(({ id }) => id).filter((id) => id !== kept);
  for (const id of ended) await revokeKey(transaction, id, new Date(now).toISOString());
  return ended;
}
