import { RuntimeFault } from "../guest/fault.ts";

export interface Statement {
  sql: string;
  values: unknown[];
  /** `query` only reads; `execute` may write. */
  readOnly: boolean;
}

/** What a plugin asks of a database, checked. @throws RuntimeFault `service_unavailable` */
export function statementOf(method: string, [sql, values = []]: unknown[]): Statement {
  if (method !== "query" && method !== "execute") {
    throw new RuntimeFault("service_unavailable", `A database has no method ${method}; it has query and execute.`);
  }
  if (typeof sql !== "string" || !Array.isArray(values)) {
    throw new RuntimeFault("service_unavailable", "A statement is a text of SQL and a list of parameters.");
  }
  return { sql, values, readOnly: method === "query" };
}
