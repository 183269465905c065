import { sql } from "kysely";
import { type Database, inTransaction, isPostgres, type Queries, type Transacted } from "./port.ts";
import { selectWhere, updateWhere } from "./rows.ts";

/** Names the KEKs that the database has ever been used with; none for a new one. */
export async function findKeks(db: Queries): Promise<Set<string>> {
  const rows = await db.selectFrom("keks").select("id").execute();
  return new Set(rows.map(({ id }) => id));
}

/**
 * Registers the first KEK of a new database. Of several hubs that start at once, one succeeds.
 *
 * @returns false when the database has a KEK already
 */
export function registerFirstKek({ dialect, kysely }: Database, id: string, now: string): Promise<boolean> {
  return kysely.transaction().execute(async (transaction) => {
    // SQLite takes its write lock at the beginning of every transaction.
    if (dialect === "postgres") await sql`lock table keks in share row exclusive mode`.execute(transaction);
    if ((await findKeks(transaction)).size > 0) return false;
    await transaction.insertInto("keks").values({ id, retired_at: null, created_at: now }).execute();
    return true;
  });
}

/** Registers KEKs by name, so that a rotation can retire them. */
export async function registerKeks(db: Queries, ids: readonly string[], now: string): Promise<void> {
  for (const id of ids) {
    await db
      .insertInto("keks")
      .values({ id, retired_at: null, created_at: now })
      .onConflict((conflict) => conflict.column("id").doNothing())
      .execute();
  }
}

/** Retires every KEK but one: from now on no transaction can store a secret under them. */
export async function retireKeksExcept({ dialect, kysely }: Database, id: string, now: string): Promise<void> {
  await kysely.transaction().execute(async (transaction) => {
    // Publications share the rows, and could keep them from the update for ever; locks of a table are given in turn.
    if (dialect === "postgres") await sql`lock table keks in exclusive mode`.execute(transaction);
    await updateWhere(transaction, "keks", { retired_at: null })
      .set({ retired_at: now })
      .where("id", "!=", id)
      .execute();
  });
}

/**
 * Runs `work` in a transaction that locks the KEK's row against changes, so that no rotation retires a KEK that a new
 * secret names. Transactions under one KEK do not wait for each other.
 *
 * @returns undefined when the KEK is retired or not registered; nothing was written then
 */
export function underKek<T>(
  db: Queries,
  kekId: string,
  work: (transaction: Transacted) => Promise<T>,
): Promise<{ result: T } | undefined> {
  return inTransaction(db, async (transaction) => {
    const kek = await selectWhere(transaction, "keks", { id: kekId, retired_at: null })
      .select("id")
      .$if(isPostgres(transaction), (query) => query.forShare())
      .executeTakeFirst();
    return kek === undefined ? undefined : { result: await work(transaction) };
  });
}

/** Names the KEKs under which a row of the database is sealed. */
export async function keksInUse(db: Queries): Promise<Set<string>> {
  const rows = await db
    .selectFrom("sealed")
    .select("kek_id")
    .union(db.selectFrom("sealed_secrets").select("kek_id"))
    .execute();
  return new Set(rows.map(({ kek_id }) => kek_id));
}
