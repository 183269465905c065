import type { Worker } from "node:worker_threads";
import type { Code } from "../../contract/codes.ts";
import { artifactError, asSealiftError, type ErrorKind, SealiftError } from "../../contract/errors.ts";
import { startThread } from "../../support/thread.ts";
import type { MemberColumns } from "./member-table.ts";
import type { BatchQueue, UnzipJob } from "./unzip-batches.ts";

export interface UnzipWorkerData {
  job: Omit<UnzipJob, "members">;
  members: { columns: MemberColumns; length: number };
  shared: BatchQueue["shared"];
}

/** The one message of `unzip-worker.ts`. */
export type FromUnzipWorker =
  { type: "done" } | { type: "failed"; error: { kind: ErrorKind; code: Code; message: string; hint?: string } };

/** A second thread that unpacks batches of the same archive into the same folder. */
export class UnzipHelper implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #queue: BatchQueue;
  readonly #exit: Promise<unknown>;
  #answer: FromUnzipWorker | undefined;
  #failure: SealiftError | undefined;

  constructor({ members: { columns, length }, ...job }: UnzipJob, queue: BatchQueue) {
    this.#queue = queue;
    this.#worker = startThread(import.meta.url, "unzip-worker", {
      job,
      members: { columns, length },
      shared: queue.shared,
    } satisfies UnzipWorkerData);
    this.#worker.on("message", (message: FromUnzipWorker) => {
      this.#answer = message;
      if (message.type === "failed") {
        const { kind, code, message: text, hint } = message.error;
        this.#failure = new SealiftError(kind, code, text, hint === undefined ? {} : { hint });
      }
    });
    this.#worker.on("error", (error: Error) => {
      this.#failure ??= asSealiftError(error, "ArtifactError");
    });
    this.#exit = new Promise((resolve) => this.#worker.once("exit", resolve));
  }

  /** @throws ArtifactError when the thread has failed already */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Resolves when the thread has unpacked all that it took, and no batch is left. @throws ArtifactError */
  async end(): Promise<void> {
    await this.#exit;
    this.check();
    if (this.#answer?.type !== "done") throw artifactError("internal", "The unpacking thread ended early.");
  }

  /** Resolves when the thread writes nothing any more, so that its folder may be removed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#queue.close();
    await this.#exit;
  }
}
