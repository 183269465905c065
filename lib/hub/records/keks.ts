import { sql } from "kysely";
import { type Database, inTransaction, isPostgres, type Queries, type TransactedIn } from "./port.ts";
import { selectWhere, updateWhere } from "./rows.ts";

/** Returns the ids of all KEKs that the database was ever used with; none for a new one. */
export async function findKeks(db: Queries): Promise<Set<string>> {
  const rows = await db.selectFrom("keks").select("id").execute();
  return new Set(rows.map(({ id }) => id));
}

/**
 * Registers the first KEK of a new database. Of several hubs that start at the same time, one succeeds.
 *
 * @returns false when the database already has a KEK
 */
export function registerFirstKek({ dialect, kysely }: Database, id: string, now: string): Promise<boolean> {
  return kysely.transaction().execute(async (transaction) => {
    // SQLite takes its write lock at the start of every transaction.
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
    // Publications share row locks, and could delay the update for ever; table locks are granted in order.
    if (dialect === "postgres") await sql`lock table keks in exclusive mode`.execute(transaction);
    await updateWhere(transaction, "keks", { retired_at: null })
      .set({ retired_at: now })
      .where("id", "!=", id)
      .execute();
  });
}

/**
 * Runs `work` in a transaction that locks the KEK's row against changes, so that no rotation retires a KEK that a new
 * secret names. Transactions under one KEK do not block each other.
 *
 * @returns undefined, with nothing written, when the KEK is retired or not registered
 */
export function underKek<T>(
  db: Queries,
  kekId: string,
  work: <In>(transaction: TransactedIn<In>) => Promise<T>,
): Promise<{ result: T } | undefined> {
  return inTransaction(db, async (transaction) => {
    const kek = await selectWhere(transaction, "keks", { id: kekId, retired_at: null })
      .select("id")
      .$if(isPostgres(transaction), (query) => query.forShare())
      .executeTakeFirst();
    return kek === undefined ? undefined : { result: await work(transaction) };
  });
}

/** Returns the ids of the KEKs under which any row is sealed. */
export async function keksInUse(db: Queries): Promise<Set<string>> {
  const rows = await db
    .selectFrom("sealed")
    .select("kek_id")
    .union(db.selectFrom("sealed_secrets").select("kek_id"))
    .execute();
  return new Set(rows.map(({ kek_id }) => kek_id));
}
