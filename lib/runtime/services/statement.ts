import { RuntimeFault } from "../guest/fault.ts";

/** Requests of plugins to databases, and the limits of one answer, which is counted where the query runs. */

/** Most rows of one answer. */
export const MAX_ROWS = 100_000;
/** Most bytes of all values of one answer: as many as a plugin's reply may hold. */
export const MAX_ANSWER_BYTES = 8 * 1024 * 1024 - 64 * 1024;
/** Longest life of a transaction, in milliseconds; also the default. */
export const MAX_TRANSACTION_MS = 5000;

export const tooLarge = (): Error =>
  new Error(
    `The answer has more than ${MAX_ROWS} rows or ${MAX_ANSWER_BYTES} bytes: ask for less at a time, with LIMIT`,
  );

/** Request of a plugin to a database. */
export type DatabaseRequest =
  | { method: "begin"; timeoutMs: number }
  | { method: "commit"; transaction: string }
  | { method: "rollback"; transaction: string }
  | Statement;

export interface Statement {
  /** `query` only reads; `execute` may write. */
  method: "query" | "execute";
  sql: string;
  values: unknown[];
  /** Open transaction of the plugin to which the statement belongs. */
  transaction: string | undefined;
}

const refuse = (message: string): RuntimeFault => new RuntimeFault("service_unavailable", message);

/** Checks a request of a plugin. @throws RuntimeFault `service_unavailable` */
export function databaseRequest(method: string, [first, second = [], transaction]: unknown[]): DatabaseRequest {
  if (method === "begin") {
    const timeoutMs = first ?? MAX_TRANSACTION_MS;
    if (typeof timeoutMs !== "number" || !(timeoutMs > 0) || timeoutMs > MAX_TRANSACTION_MS) {
      throw refuse(`A transaction's timeoutMs is a number up to ${MAX_TRANSACTION_MS}.`);
    }
    return { method, timeoutMs };
  }
  if (method === "commit" || method === "rollback") return { method, transaction: `${first as string}` };
  if (method !== "query" && method !== "execute") {
    throw refuse(`A database has no method ${method}; it has query, execute and transaction.`);
  }
  if (typeof first !== "string" || !Array.isArray(second) || !["string", "undefined"].includes(typeof transaction)) {
    throw refuse("A statement is a text of SQL and a list of parameters.");
  }
  return { method, sql: first, values: second, transaction: transaction as string | undefined };
}
