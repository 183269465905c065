import type { Selectable } from "kysely";
import { projectId } from "../../../contract/identifiers.ts";
import type { PublisherRecord } from "../../../contract/publishers/publishers.ts";
import { type Target, targetText } from "../../../contract/target.ts";
import { conflict, HubError } from "../../base/errors.ts";
import { hashOf } from "../../base/identity.ts";
import { endsOfKey, storedEnds } from "../../records/ends.ts";
import { type Key, type KeyView, revokeKey } from "../../records/keys.ts";
import { type Locked, locked } from "../../records/locked.ts";
import { type PageRange, type Queries, takeTurn, type Transacted, type TransactedIn } from "../../records/port.ts";
import type { Project } from "../../records/projects.ts";
import { selectWhere } from "../../records/rows.ts";
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

/**
 * Inserts a publisher for the owner of its target, or else of the key that adds it, whose ends its runs have.
 *
 * @throws HubError 409 for an owner who has too many
 */
export async function insertPublisher<In>(
  transaction: TransactedIn<In>,
  { maker, target }: { maker: Locked<Key, In>; target: Locked<Project, In> | null },
  facts: Omit<PublishersTable, "owner" | "ends" | "created_by">,
): Promise<PublishersTable> {
  const { owner } = target ?? maker;
  const row = { ...facts, owner, created_by: maker.id, ends: storedEnds(endsOfKey(maker)) };
  await takeTurn(transaction, `owner/${owner}`);
  const { count } = await own(transaction)
    .selectFrom("publishers")
    .where("owner", "=", owner)
    .select((eb) => eb.fn.countAll<number | string>().as("count"))
    .executeTakeFirstOrThrow();
  if (Number(count) >= MAX_PUBLISHERS) throw conflict(`An owner has at most ${MAX_PUBLISHERS} publishers.`);
  await own(transaction).insertInto("publishers").values(row).execute();
  return row;
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

/**
 * Removes a publisher, and revokes its keys. Its target is locked: no exchange gives another key.
 *
 * @param now ISO 8601
 */
export async function removePublisher<In>(
  transaction: TransactedIn<In>,
  { id }: Pick<Publisher, "id">,
  now: string,
): Promise<void> {
  const keys = await own(transaction)
    .selectFrom("publisher_keys")
    .where("publisher_id", "=", id)
    .select("key_id")
    .orderBy("key_id")
    .execute();
  for (const { key_id: key } of keys) await revokeKey(transaction, key, now);
  await own(transaction).deleteFrom("publishers").where("id", "=", id).execute();
}

/** Removes the publishers of a project, plugin or service, and revokes their keys. @param now ISO 8601 */
export async function removePublishersOf<In>(
  transaction: TransactedIn<In>,
  { id: project_id }: Locked<Project, In>,
  now: string,
): Promise<void> {
  const found = await own(transaction)
    .selectFrom("publishers")
    .where("project_id", "=", project_id)
    .select("id")
    .orderBy("id")
    .execute();
  for (const publisher of found) await removePublisher(transaction, publisher, now);
}

/** Moves the publishers of a project, plugin or service to another owner. */
export async function givePublishers(db: Queries, projectId: string, owner: string): Promise<void> {
  await own(db).updateTable("publishers").where("project_id", "=", projectId).set({ owner }).execute();
}

/** Returns the id of a publisher's target; of a pending one, of the target that its owner has made by hand since. */
export async function targetIdOf(db: Queries, publisher: Publisher): Promise<string | null> {
  const pending = pendingOf(publisher);
  if (pending === undefined) return publisher.project_id;
  const { kind, slug } = pending;
  const made = await selectWhere(db, "projects", { kind, slug, owner: publisher.owner })
    .select("id")
    .executeTakeFirst();
  return made?.id ?? null;
}

/**
 * Locks a publisher whose target the transaction has locked before.
 *
 * @param targetId id of that target; null for a publisher that will create it
 * @returns undefined for one that was removed
 * @throws PublisherMoved for one that has another target by now: {@link againIfMoved} begins again
 */
export async function lockPublisher<In>(
  transaction: TransactedIn<In>,
  id: string,
  targetId: string | null,
): Promise<Locked<Publisher, In> | undefined> {
  await own(transaction)
    .updateTable("publishers")
    .where("id", "=", id)
    .set((eb) => ({ pending: eb.ref("pending") }))
    .execute();
  const row = await publishersOf(transaction).where("b.id", "=", id).executeTakeFirst();
  if (row === undefined) return undefined;
  const current = await targetIdOf(transaction, row);
  if (current !== targetId) throw new PublisherMoved(current);
  return locked(transaction, row);
}

/** Thrown when a publisher has another target than the one that was locked. */
class PublisherMoved extends HubError {
  readonly targetId: string | null;

  constructor(targetId: string | null) {
    super(409, "conflict", "The publisher or its target has changed meanwhile; try again.");
    this.targetId = targetId;
  }
}

/**
 * Runs a transaction that locks a target and then its publisher; a second time if the publisher has another target by
 * then.
 *
 * @param targetId as it was read before, when what another request had written was perhaps not committed yet
 */
export async function againIfMoved<T>(
  targetId: string | null,
  attempt: (targetId: string | null) => Promise<T>,
): Promise<T> {
  try {
    return await attempt(targetId);
  } catch (error) {
    if (!(error instanceof PublisherMoved)) throw error;
    return attempt(error.targetId);
  }
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
