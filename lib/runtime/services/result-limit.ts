/**
 * The limits of one answer of a database. It is counted where the query runs, before the answer reaches the runtime.
 */

/** Rows of one answer. */
export const MAX_ROWS = 100_000;
/** Bytes of all values of one answer: what a reply of a plugin may hold as well. */
export const MAX_ANSWER_BYTES = 8 * 1024 * 1024 - 64 * 1024;
/** Milliseconds for which a transaction may stay open, and does when the plugin does not say. */
export const MAX_TRANSACTION_MS = 5000;

export const tooLarge = (): Error =>
  new Error(
    `The answer has more than ${MAX_ROWS} rows or ${MAX_ANSWER_BYTES} bytes: ask for less at a time, with LIMIT`,
  );
