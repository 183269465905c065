import { createHash, randomBytes } from "node:crypto";
import { open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { SealiftError } from "../contract/errors.ts";
import { REST_PART, type UploadFields } from "../contract/publishing/uploads.ts";
import { readChunks } from "../support/read-chunks.ts";
import { type FileBytes, type FilePart, restOfFile } from "./file-form.ts";
import { ATTEMPTS, isTransient, repeated, type Retry } from "./retry.ts";

/** Bytes by which an upload must get further in four attempts, so that four more follow. */
const PROGRESS_BYTES = 1024 * 1024;
/** Pause after four attempts, in milliseconds. */
const ROUND_PAUSE_MS = 2000;
/** Bytes that must have been sent for the hub to be asked what it has kept of them. */
const WORTH_ASKING_BYTES = 64 * 1024;
/** Refusals of a rest for reasons that a whole file has, too: sending that would change nothing. */
const OF_THE_WHOLE = new Set(["version_exists", "version_deleted", "quota_exceeded", "signer_refused"]);

/** Upload as one request names it in its form: from its start, or from a byte on. */
export interface UploadStep {
  fields: UploadFields;
  /** Rest of the file to send; undefined for the whole. */
  rest?: FileBytes;
}

/** Returns the file part of a step, and its bytes. */
export const stepPart = (part: FilePart, file: FileBytes, { rest }: UploadStep): { part: FilePart; file: FileBytes } =>
  rest === undefined ? { part, file } : { part: { ...part, name: REST_PART }, file: rest };

interface ResumedUpload<T> {
  /** Asks the hub how many bytes of an upload it has. Rejects when it has none, or knows no such question. */
  ask: (id: string) => Promise<number>;
  /** Sends a request, and calls `onSent` with the bytes of the file sent so far. */
  send: (step: UploadStep, onSent: (bytes: number) => void) => Promise<T>;
  /** Returns the path of the file once it is whole, whose bytes are the same for each request. */
  file: () => Promise<string>;
  signal?: AbortSignal | undefined;
  onRetry: (retry: Retry) => void;
  /** Called when an attempt goes on at a byte instead of beginning again. */
  onResume: (bytes: number) => void;
}

/**
 * Uploads a file in as many requests as it takes (docs/contract/uploads.md): the first sends it from its start, the
 * next ones what the hub lacks. Sends the whole again to a hub that keeps nothing. Ends after four attempts that got no
 * further together.
 *
 * @throws the error of the last attempt
 */
export async function uploadResumed<T>({ onRetry, signal, ...upload }: ResumedUpload<T>): Promise<T> {
  const steps = new Steps(upload);
  for (;;) {
    const from = steps.offset;
    try {
      return await repeated(() => steps.attempt(), {
        ...{ signal, onRetry },
        isWorthIt: (error) => isTransient(error) || steps.isRestRefused(error),
      });
    } catch (error) {
      if (!isTransient(error) || steps.offset - from < PROGRESS_BYTES) throw error;
      onRetry({ error: error as SealiftError, attempt: 1, attempts: ATTEMPTS, waitMs: ROUND_PAUSE_MS });
      await sleep(ROUND_PAUSE_MS, undefined, signal && { signal });
    }
  }
}

class Steps<T> {
  readonly #upload: Omit<ResumedUpload<T>, "onRetry" | "signal">;
  readonly #id = randomBytes(24).toString("base64url");
  #mostSent = 0;
  /** Whether the last attempt sent a rest, and was refused for it. */
  #isRefused = false;
  /** Byte at which the last attempt went on. */
  offset = 0;

  constructor(upload: Omit<ResumedUpload<T>, "onRetry" | "signal">) {
    this.#upload = upload;
  }

  async attempt(): Promise<T> {
    const step = this.#isRefused || this.#mostSent < WORTH_ASKING_BYTES ? this.#whole() : await this.#next();
    this.#isRefused = false;
    return this.#upload.send(step, (bytes) => void (this.#mostSent = Math.max(this.#mostSent, bytes)));
  }

  /** Whether a hub refused the rest of a file, and may take the whole. */
  isRestRefused(error: SealiftError): boolean {
    const { status = 0, hubCode = "" } = error;
    this.#isRefused = this.offset > 0 && [400, 404, 409, 413, 422].includes(status) && !OF_THE_WHOLE.has(hubCode);
    return this.#isRefused;
  }

  #whole(): UploadStep {
    this.offset = 0;
    return { fields: { upload_id: this.#id } };
  }

  async #next(): Promise<UploadStep> {
    const { ask, file, onResume } = this.#upload;
    const path = await file();
    const offset = await ask(this.#id).catch((error: unknown) => {
      // The hub may be back for the next attempt, and still have the bytes.
      if (!(error instanceof SealiftError) || isTransient(error)) throw error;
      return 0;
    });
    await using opened = await open(path, "r");
    const { size } = await opened.stat();
    if (offset === 0 || offset > size) return this.#whole();
    const hash = createHash("sha256");
    for await (const chunk of readChunks(opened, undefined, { range: { start: 0, end: offset - 1 } }))
      hash.update(chunk);
    this.offset = offset;
    onResume(offset);
    return {
      fields: { upload_id: this.#id, upload_offset: String(offset), upload_sha256: hash.digest("hex") },
      rest: restOfFile(path, offset, size),
    };
  }
}
