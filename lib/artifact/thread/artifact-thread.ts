import type { Worker } from "node:worker_threads";
import type { Code } from "../../contract/codes.ts";
import { artifactError, asSealiftError, type ErrorKind, SealiftError } from "../../contract/errors.ts";
import { startThread } from "../../support/thread.ts";

/** Job for the thread: the name of a loop in `artifact-worker.ts`, and its arguments. */
export interface Job {
  loop: "unpack" | "unzip" | "chunks";
}

/** Message of the thread: progress, or the result. */
export type FromThread = { told: unknown } | { done: unknown } | { failed: PlainError };

/** A {@link SealiftError} as sent between threads. */
interface PlainError {
  kind: ErrorKind;
  code: Code;
  message: string;
  hint: string | undefined;
}

export const plainError = ({ kind, code, message, hint }: SealiftError): PlainError => ({ kind, code, message, hint });

const errorOf = ({ kind, code, message, hint }: PlainError): SealiftError =>
  new SealiftError(kind, code, message, hint === undefined ? {} : { hint });

interface PendingJob {
  answer: PromiseWithResolvers<unknown>;
  onTold: ((told: never) => void) | undefined;
}

/**
 * Second thread for packing and unpacking. Runs jobs one after the other, each a plain loop that writes files or hashes
 * bytes, with a heap of its own that is freed with it.
 */
export class ArtifactThread implements AsyncDisposable {
  readonly #worker: Worker;
  /** Pending jobs, in order. */
  readonly #asked: PendingJob[] = [];
  #failure: SealiftError | undefined;

  /** Starts the thread, which takes a moment: best while the first bytes still arrive. */
  constructor() {
    this.#worker = startThread(import.meta.url, "artifact-worker", undefined);
    this.#worker.on("message", (message: FromThread) => this.#receive(message));
    this.#worker.on("error", (error: Error) => this.#fail(asSealiftError(error, "ArtifactError")));
    this.#worker.on("exit", () => this.#fail(artifactError("internal", "The unpacking thread ended early.")));
  }

  #receive(message: FromThread): void {
    if ("told" in message) this.#asked[0]?.onTold?.(message.told as never);
    else if ("done" in message) this.#asked.shift()?.answer.resolve(message.done);
    else this.#asked.shift()?.answer.reject(errorOf(message.failed));
  }

  #fail(error: SealiftError): void {
    this.#failure ??= error;
    for (const { answer } of this.#asked.splice(0)) answer.reject(this.#failure);
  }

  /**
   * Runs a job on the thread.
   *
   * @param onTold called with its progress
   * @param signal abandons the job; the thread continues it until it is disposed of
   * @throws the SealiftError of the job; `internal` when the thread has ended; the reason of an abort
   */
  async ask<Answer, Told = never>(
    job: Job,
    { onTold, signal }: { onTold?: (told: Told) => void; signal?: AbortSignal | undefined } = {},
  ): Promise<Answer> {
    if (this.#failure !== undefined) throw this.#failure;
    signal?.throwIfAborted();
    const answer = Promise.withResolvers<unknown>();
    const stop = (): void => answer.reject(signal!.reason);
    signal?.addEventListener("abort", stop, { once: true });
    this.#asked.push({ answer, onTold });
    this.#worker.postMessage(job);
    try {
      return (await answer.promise) as Answer;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /** Ends the thread, whatever it does. Once this resolves, it writes nothing more. Safe at any time. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
