import type { Selectable } from "kysely";
import { projectId } from "../../../contract/identifiers.ts";
import type { PublisherRecord } from "../../../contract/publishers/publishers.ts";
import { type Target, targetText } from "../../../contract/target.ts";
import { conflict } from "../../base/errors.ts";
import { hashOf } from "../../base/identity.ts";
import { type KeyView, revokeKey } from "../../records/keys.ts";
import { type PageRange, type Queries, takeTurn, type Transacted } from "../../records/port.ts";
import type { OwnTables, PublishersTable } from "./tables.ts";

/** Most publishers of one owner. */
const MAX_PUBLISHERS = 1000;

/** Publisher, with the facts of its target. */
export interface Publisher extends Selectable<PublishersTable> {
  kind: "plugin" | "service" | "project" | null;
  slug: string | null;
}

/** The database with the tables of this feature. */
const own = (db: Queries) => db.withTables<OwnTables>();

const publishersOf = (db: Queries) =>
  own(db)
    .selectFrom("publishers as b")
    .leftJoin("projects as p", "p.id", "b.project_id")
    .selectAll("b")
    .select(["p.kind", "p.slug"]);

/** Target that a publisher will create; the slug of a project is its future id. */
export interface Pending extends Target {
  name: string;
}

/** Returns the target that a publisher will create; undefined if it has one. */
export function pendingOf({ pending, pending_name: name }: Publisher): Pending | undefined {
  if (pending === null || name === null) return undefined;
  const colon = pending.indexOf(":");
  return { kind: pending.slice(0, colon) as Pending["kind"], slug: pending.slice(colon + 1), name };
}

export const claimsOf = ({ claims }: Publisher) => JSON.parse(claims) as Record<string, string>;

export function publisherRecord(row: Publisher): PublisherRecord {
  const { id, name, owner, kind, slug, issuer, audience, scope, created_at, created_by, last_used_at } = row;
  return {
    ...{ id, name, owner, target: kind === null || slug === null ? null : targetText({ kind, slug }) },
    ...{ creates: pendingOf(row) ?? null, issuer, audience, claims: claimsOf(row), scope },
    ...{ created_at, created_by, last_used_at },
  };
}

/** Inserts a publisher. @throws HubError 409 for an owner who has too many */
export async function insertPublisher(transaction: Transacted, row: PublishersTable): Promise<void> {
  const { owner } = row;
  await takeTurn(transaction, `owner/${owner}`);
  const { count } = await own(transaction)
    .selectFrom("publishers")
    .where("owner", "=", owner)
    .select((eb) => eb.fn.countAll<number | string>().as("count"))
    .executeTakeFirstOrThrow();
  if (Number(count) >= MAX_PUBLISHERS) throw conflict(`An owner has at most ${MAX_PUBLISHERS} publishers.`);
  await own(transaction).insertInto("publishers").values(row).execute();
}

const visible = (db: Queries, { owner, projectId }: KeyView) =>
  publishersOf(db)
    .$if(owner !== undefined, (query) => query.where("b.owner", "=", owner!))
    .$if(projectId !== null, (query) => query.where("b.project_id", "=", projectId));

export const listPublishers = (db: Queries, view: KeyView, { after, limit }: PageRange): Promise<Publisher[]> =>
  visible(db, view).where("b.id", ">", after).orderBy("b.id").limit(limit).execute();

export const findPublisher = (db: Queries, view: KeyView, id: string): Promise<Publisher | undefined> =>
  visible(db, view).where("b.id", "=", id).executeTakeFirst();

/**
 * Returns the publishers of an issuer that may publish to a target, or create it. A project may be called by its name,
 * unless that looks like an id.
 */
export async function publishersFor(db: Queries, { kind, slug }: Target, issuer: string): Promise<Publisher[]> {
  const isName = kind === "project" && !projectId.safeParse(slug).success;
  return publishersOf(db)
    .where("b.issuer", "=", issuer)
    .where((eb) =>
      eb.or([
        eb("b.pending", "=", `${kind}:${slug}`),
        ...(isName ? [eb.and([eb("b.pending", "like", "project:%"), eb("b.pending_name", "=", slug)])] : []),
        eb.and([
          eb("p.kind", "=", kind),
          eb.or([eb("p.slug", "=", slug), ...(isName ? [eb("p.name", "=", slug)] : [])]),
        ]),
      ]),
    )
    .orderBy("b.id")
    .execute();
}

/**
 * Counts the targets that publishers publish to, or create. A pending plugin or service is its owner's, and is there
 * already when that owner has one of the name.
 */
export const countTargets = (publishers: readonly Publisher[]): number =>
  new Set(
    publishers.map(({ project_id: id, pending, kind, owner }) =>
      kind === "project" || pending?.startsWith("project:") === true ? (id ?? pending) : owner,
    ),
  ).size;

/** Removes a publisher, and ends its keys. @param now ISO 8601 */
export async function removePublisher(transaction: Transacted, id: string, now: string): Promise<void> {
  // An exchange holds the row: the key that it gives is seen here.
  await lockPublisher(transaction, id);
  const keys = await own(transaction)
    .selectFrom("publisher_keys")
    .where("publisher_id", "=", id)
    .select("key_id")
    .execute();
  for (const { key_id: key } of keys) await revokeKey(transaction, key, now);
  await own(transaction).deleteFrom("publishers").where("id", "=", id).execute();
}

/** Removes the publishers of a project, plugin or service, and revokes their keys. */
export async function removePublishersOf(transaction: Transacted, projectId: string, now: string): Promise<void> {
  const found = await own(transaction)
    .selectFrom("publishers")
    .where("project_id", "=", projectId)
    .select("id")
    .execute();
  for (const { id } of found) await removePublisher(transaction, id, now);
}

/** Moves the publishers of a project, plugin or service to another owner. */
export async function givePublishers(db: Queries, projectId: string, owner: string): Promise<void> {
  await own(db).updateTable("publishers").where("project_id", "=", projectId).set({ owner }).execute();
}

/** Reads a publisher and locks its row until the transaction ends. @returns undefined for one that was removed */
export async function lockPublisher(transaction: Transacted, id: string): Promise<Publisher | undefined> {
  await own(transaction)
    .updateTable("publishers")
    .where("id", "=", id)
    .set((eb) => ({ pending: eb.ref("pending") }))
    .execute();
  return publishersOf(transaction).where("b.id", "=", id).executeTakeFirst();
}

/** Records that a publisher got a key for its target; a pending publisher has created it. */
export async function noteExchange(
  transaction: Transacted,
  { id, keyId, projectId, now }: { id: string; keyId: string; projectId: string; now: string },
): Promise<void> {
  const facts = { project_id: projectId, pending: null, pending_name: null, last_used_at: now };
  await own(transaction).updateTable("publishers").where("id", "=", id).set(facts).execute();
  await own(transaction).insertInto("publisher_keys").values({ key_id: keyId, publisher_id: id }).execute();
}

/** Marks a token as used. @param name unique name of the token @returns false for one that was used before */
export async function takeToken(transaction: Transacted, name: string, expiresAt: string): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await own(transaction)
    .insertInto("used_tokens")
    .values({ hash: hashOf(name), expires_at: expiresAt })
    .onConflict((on) => on.column("hash").doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

/**
 * Removes used tokens that have expired, and the records of publishers' keys that have ended. @param before ISO 8601
 */
export async function forgetEnded(db: Queries, before: string): Promise<void> {
  await own(db).deleteFrom("used_tokens").where("expires_at", "<", before).execute();
  const ended = db.selectFrom("api_keys").select("id").where("expires_at", "<", before);
  await own(db).deleteFrom("publisher_keys").where("key_id", "in", ended).execute();
}
