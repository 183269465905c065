import type { TransactedIn } from "./port.ts";

/**
 * Locks are taken in one order, so that no two transactions wait for each other (docs/decisions/0028-locks.md):
 *
 * 1. targets, by id;
 * 2. the turn of an owner (`takeTurn`);
 * 3. API keys, by id;
 * 4. publishers, then invites and joined hosts;
 * 5. rollouts;
 * 6. versions, and all that belongs to them;
 * 7. the turn of a new name, and of those that look like it (`takeTurn`).
 *
 * The owner and the host of a key change under the lock of its project alone, so that a transaction that holds the
 * project relies on them without a lock of the key.
 */

/** No value is made of it: its protected field sets a locked row apart from a row with the same columns. */
declare class Hold<in out In> {
  protected readonly transaction: (transaction: In) => In;
}

/**
 * Row that its transaction has locked, as it is until the transaction ends. What changes takes facts such as the owner
 * from such rows alone. A row read outside of the transaction is none, nor is a copy of one, and no row can leave.
 */
export type Locked<Row, In> = Readonly<Row> & Hold<In>;

/** Marks a row that the statement before has locked. */
export const locked = <Row extends object, In>(_transaction: TransactedIn<In>, row: Row): Locked<Row, In> =>
  row as Locked<Row, In>;
