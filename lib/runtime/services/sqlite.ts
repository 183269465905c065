import { type ChildProcess, fork } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { RuntimeFault } from "../guest/fault.ts";
import { OWN_EXTENSION } from "../guest/sdk-resolution.ts";
import type { Reaper } from "../sandbox/reaper.ts";
import type { Service } from "./service.ts";
import type { SqliteAnswer, SqliteRequest } from "./sqlite-process.ts";
import { statementOf } from "./statement.ts";

/** How long one statement may take, waiting included; then its process is ended and a new one takes over. */
const STATEMENT_TIMEOUT_MS = 10_000;

/** The file of a `sqlite:` or `file:` URL, or of a plain path, relative to the project root. */
export function sqlitePath(url: string, root: string): string {
  const path = url.replace(/^(?:sqlite|file):(?:\/\/(?=\/)|\/\/)?/, "");
  return path === ":memory:" || path === "" ? ":memory:" : resolve(root, path);
}

interface Pending {
  resolve(answer: { rows: unknown[]; changes: number }): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

/** How long the process has to close its files. */
const CLOSE_TIMEOUT_MS = 2000;

/** An embedded database, in a process of its own that starts with the first statement. */
export class SqliteDatabase implements Service {
  readonly #path: string;
  readonly #reaper: Reaper;
  readonly #pending = new Map<number, Pending>();
  #process: ChildProcess | undefined;
  #last = 0;

  private constructor(path: string, reaper: Reaper) {
    this.#path = path;
    this.#reaper = reaper;
  }

  /** @param reaper ends the process with a runtime that is killed */
  static async open(url: string, { root, reaper }: { root: string; reaper: Reaper }): Promise<SqliteDatabase> {
    const path = sqlitePath(url, root);
    if (path !== ":memory:") await mkdir(dirname(path), { recursive: true });
    return new SqliteDatabase(path, reaper);
  }

  async request(method: string, parameters: unknown[]): Promise<unknown> {
    const { sql, values, readOnly } = statementOf(method, parameters);
    const answer = await this.#run(sql, values, readOnly);
    return method === "query" ? answer.rows : answer;
  }

  async check(): Promise<void> {
    await this.#run("SELECT 1", [], true);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    const timer = setTimeout(() => child.kill("SIGKILL"), CLOSE_TIMEOUT_MS);
    child.ref();
    child.disconnect();
    await ended;
    clearTimeout(timer);
  }

  #run(sql: string, parameters: unknown[], readOnly: boolean): Promise<{ rows: unknown[]; changes: number }> {
    const child = (this.#process ??= this.#start());
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => child.kill("SIGKILL"), STATEMENT_TIMEOUT_MS);
      this.#pending.set(id, { resolve, reject, timer });
      child.send({ id, sql, parameters, readOnly } satisfies SqliteRequest);
    });
  }

  #start(): ChildProcess {
    const file = fileURLToPath(new URL(`./sqlite-process${OWN_EXTENSION}`, import.meta.url));
    const child = fork(file, [this.#path], {
      execArgv: ["--disable-warning=ExperimentalWarning", "--disable-sigusr1"],
      env: {},
      serialization: "advanced",
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      detached: true,
    });
    const { pid } = child;
    if (pid !== undefined) this.#reaper.add(pid);
    child.on("message", (answer: SqliteAnswer) => {
      const pending = this.#take(answer.id);
      if ("error" in answer) pending?.reject(new RuntimeFault("service_unavailable", answer.error));
      else pending?.resolve({ rows: answer.rows, changes: answer.changes });
    });
    const end = (reason: string): void => {
      if (pid !== undefined) this.#reaper.remove(pid);
      if (this.#process === child) this.#process = undefined;
      for (const id of [...this.#pending.keys()]) {
        this.#take(id)?.reject(new RuntimeFault("service_unavailable", `The database's process ended: ${reason}.`));
      }
    };
    child.on("error", (error) => end(error.message));
    child.on("exit", (code, signal) => {
      const slow = `a statement took longer than ${STATEMENT_TIMEOUT_MS / 1000} s`;
      end(signal === "SIGKILL" ? slow : `exit code ${code ?? "unknown"}`);
    });
    return child;
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    clearTimeout(pending?.timer);
    this.#pending.delete(id);
    return pending;
  }
}
