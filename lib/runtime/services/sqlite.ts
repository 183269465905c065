import { dirname, resolve } from "node:path";
import { makeFolder } from "../../support/files.ts";
import type { Service } from "./service.ts";
import { type ProcessKeepers, SqliteSession } from "./sqlite-session.ts";
import { databaseRequest } from "./statement.ts";

/** Returns the file of a `sqlite:` or `file:` URL, or of a plain path, relative to the project root. */
export function sqlitePath(url: string, root: string): string {
  const path = url.replace(/^(?:sqlite|file):(?:\/\/(?=\/)|\/\/)?/, "");
  return path === ":memory:" || path === "" ? ":memory:" : resolve(root, path);
}

/** Caller of the runtime's own session, for health checks. */
const RUNTIME = "";

/**
 * Embedded database. Each plugin has a process of its own for it: no plugin sees the state of another's session, and a
 * statement that never ends, or takes too much memory, ends the process of the plugin that wrote it.
 */
export class SqliteDatabase implements Service {
  readonly #path: string;
  readonly #keepers: ProcessKeepers;
  readonly #sessions = new Map<string, SqliteSession>();

  private constructor(path: string, keepers: ProcessKeepers) {
    this.#path = path;
    this.#keepers = keepers;
  }

  static async open(url: string, { root, ...keepers }: ProcessKeepers & { root: string }): Promise<SqliteDatabase> {
    const path = sqlitePath(url, root);
    if (path !== ":memory:") await makeFolder(dirname(path));
    return new SqliteDatabase(path, keepers);
  }

  async request(method: string, parameters: unknown[], caller: string): Promise<unknown> {
    const answer = await this.#sessionOf(caller).ask(databaseRequest(method, parameters));
    if ("transaction" in answer) return answer.transaction;
    return method === "query" ? answer.rows : { rows: answer.rows, changes: answer.changes };
  }

  async check(): Promise<void> {
    await this.#sessionOf(RUNTIME).ask({ method: "query", sql: "SELECT 1", values: [], transaction: undefined });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session[Symbol.asyncDispose]()));
  }

  #sessionOf(caller: string): SqliteSession {
    // A database in memory lives in one process, which its plugins share.
    const key = this.#path === ":memory:" ? RUNTIME : caller;
    let session = this.#sessions.get(key);
    if (session === undefined) this.#sessions.set(key, (session = new SqliteSession(this.#path, this.#keepers)));
    return session;
  }
}
