import type { Queries, Transacted } from "./port.ts";

/** Runs `work` in a transaction: in that of `db`, if it is one, else in one of its own. */
export function inTransaction<T>(db: Queries, work: (transaction: Transacted) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db as Transacted) : db.transaction().execute(work);
}
