import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { ownProcess } from "../../support/one-file.ts";
import { settledWithin } from "../../support/within.ts";
import { RuntimeFault } from "../guest/fault.ts";
import { OWN_EXTENSION } from "../guest/sdk-resolution.ts";
import type { MemorySampler } from "../sandbox/memory-sampler.ts";
import type { Reaper } from "../sandbox/reaper.ts";
import type { SqliteAnswer, SqliteRequest } from "./sqlite-process.ts";
import type { DatabaseRequest } from "./statement.ts";

/** Time limit of one statement, waiting included, in milliseconds; then its process is ended and replaced. */
const STATEMENT_TIMEOUT_MS = 10_000;
/** Time limit for the process to close its files, in milliseconds. */
const CLOSE_TIMEOUT_MS = 2000;
/** Idle time after which the process ends, in milliseconds; the next statement starts another. */
const IDLE_MS = 60_000;
const MAX_MEMORY_MB = 384;

export interface ProcessKeepers {
  /** Ends the process with a runtime that is killed. */
  reaper: Reaper;
  sampler: MemorySampler;
}

interface Pending {
  answer: PromiseWithResolvers<SqliteAnswer>;
  timer: NodeJS.Timeout;
}

/** Process of one plugin for one SQLite database, started by the first statement. */
export class SqliteSession implements AsyncDisposable {
  readonly #path: string;
  readonly #keepers: ProcessKeepers;
  readonly #pending = new Map<number, Pending>();
  #process: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;
  #last = 0;

  constructor(path: string, keepers: ProcessKeepers) {
    this.#path = path;
    this.#keepers = keepers;
  }

  /** Sends a request to the process. @throws RuntimeFault `service_unavailable` */
  async ask(request: DatabaseRequest): Promise<Exclude<SqliteAnswer, { error: string }>> {
    const child = (this.#process ??= this.#start());
    const id = ++this.#last;
    const answer = Promise.withResolvers<SqliteAnswer>();
    const timer = setTimeout(() => child.kill("SIGKILL"), STATEMENT_TIMEOUT_MS);
    this.#pending.set(id, { answer, timer });
    clearTimeout(this.#idle);
    child.send({ id, request } satisfies SqliteRequest);
    const answered = await answer.promise;
    if ("error" in answered) throw new RuntimeFault("service_unavailable", answered.error);
    return answered;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#idle);
    const child = this.#process;
    if (child === undefined) return;
    this.#process = undefined;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.ref();
    child.disconnect();
    if (!(await settledWithin(ended, CLOSE_TIMEOUT_MS))) child.kill("SIGKILL");
    await ended;
  }

  #start(): ChildProcess {
    const file = fileURLToPath(new URL(`./sqlite-process${OWN_EXTENSION}`, import.meta.url));
    const flags = ["--disable-warning=ExperimentalWarning", "--disable-sigusr1", "--max-old-space-size=128"];
    const { execArgv, script } = ownProcess(flags, file);
    const child = fork(script, [this.#path], {
      execArgv,
      env: {},
      serialization: "advanced",
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      detached: true,
    });
    let killed = `a statement took longer than ${STATEMENT_TIMEOUT_MS / 1000} s`;
    const unwatch = this.#keep(child, () => {
      killed = `a statement took more than ${MAX_MEMORY_MB} MB of memory`;
      child.kill("SIGKILL");
    });
    child.on("message", (answer: SqliteAnswer) => {
      this.#take(answer.id)?.answer.resolve(answer);
      if (this.#pending.size === 0) this.#endWhenIdle(child);
    });
    const end = (reason: string): void => {
      unwatch();
      if (this.#process === child) this.#process = undefined;
      for (const id of [...this.#pending.keys()]) {
        const fault = new RuntimeFault("service_unavailable", `The database's process ended: ${reason}.`);
        this.#take(id)?.answer.reject(fault);
      }
    };
    child.on("error", (error) => end(error.message));
    child.on("exit", (code, signal) => end(signal === "SIGKILL" ? killed : `exit code ${code ?? signal ?? "unknown"}`));
    return child;
  }

  /** Watches the process. @returns a function that stops it */
  #keep({ pid }: ChildProcess, onExceeded: () => void): () => void {
    const { reaper, sampler } = this.#keepers;
    if (pid === undefined) return () => undefined;
    reaper.add(pid);
    const limitBytes = MAX_MEMORY_MB * 1024 * 1024;
    const unwatch = sampler.watch({ pid, limitBytes, residentBytes: 0, onExceeded });
    return () => {
      reaper.remove(pid);
      unwatch();
    };
  }

  #endWhenIdle(child: ChildProcess): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      if (this.#process !== child || this.#pending.size > 0) return;
      this.#process = undefined;
      child.disconnect();
    }, IDLE_MS).unref();
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    clearTimeout(pending?.timer);
    this.#pending.delete(id);
    return pending;
  }
}
