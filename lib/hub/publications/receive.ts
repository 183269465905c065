import { createHash } from "node:crypto";
import type { MultipartFile } from "@fastify/multipart";
import type { FastifyRequest } from "fastify";
import * as z from "zod";
import { REST_PART, restFields, uploadFields } from "../../contract/publishing/uploads.ts";
import { countBuffered } from "../base/buffer-collection.ts";
import { badRequest, HubError, tooLarge, unprocessable } from "../base/errors.ts";
import type { Blobs, IncomingBlob } from "../blobs/port.ts";
import { parseOrRefuse } from "../http/validation.ts";
import type { ArrivingFile, Bringing } from "./kept-uploads.ts";
import { uploadTurns } from "./upload-turns.ts";

/** Words for the limits of forms, by those of the library that reads them. */
const LIMIT_WORDS: Readonly<Record<string, string>> = {
  "reach fields limit": "too many fields",
  "reach files limit": "too many files",
  "reach parts limit": "too many parts",
};

/** Limits of a form's text fields; the file has its own. */
const LIMITS = { fieldNameSize: 100, fieldSize: 8192, fields: 32, files: 4, parts: 36, headerPairs: 32 };
/** Most bytes of a form beyond its file. */
const FORM_OVERHEAD_BYTES = 1024 * 1024;

/** Bytes that arrived whole, with their digest. */
export interface UploadedFile {
  blob: IncomingBlob;
  /** SHA-256, hexadecimal. */
  sha256: string;
}

/** Form that arrived whole. Disposing it discards the file unless that was committed. */
export interface ReceivedForm extends AsyncDisposable {
  fields: Record<string, string>;
  /** File of the form; undefined without one. */
  file: UploadedFile | undefined;
}

export interface UploadOptions {
  blobs: Blobs;
  /** Name of the file part. */
  part: string;
  /** Largest file. */
  maxBytes: number;
  /**
   * Called with the fields before the file; may return a watcher of its bytes. Throwing ends the upload early.
   *
   * @param isWhole false when only the rest of the file follows
   */
  onFile?: (fields: Record<string, string>, isWhole: boolean) => ((chunk: Uint8Array) => void) | undefined;
  /** Request, if what arrives of it may be kept when it is cut. */
  bringing?: Bringing | undefined;
}

const isFileSystemError = (error: unknown): boolean => (error as NodeJS.ErrnoException).syscall !== undefined;

/**
 * Converts an error to an answer: errors of the parser and the connection are the sender's, those of the disk are the
 * hub's.
 */
function asAnswer(error: unknown): unknown {
  if (error instanceof HubError) return error;
  const { code, statusCode, message } = error as { code?: string; statusCode?: number; message: string };
  if (isFileSystemError(error) && code !== "ECONNRESET") return error;
  if (statusCode === 413) return tooLarge(`The form has ${LIMIT_WORDS[message] ?? "too many bytes"}.`);
  return badRequest(`The form is malformed or ended early: ${message}.`);
}

/** Opens the file that a file part goes to. @throws HubError 404, 409 and 422 for a rest that does not fit */
async function openFile(
  fields: Record<string, string>,
  isRest: boolean,
  { blobs, bringing }: UploadOptions,
): Promise<ArrivingFile> {
  if (bringing !== undefined && (isRest || fields["upload_id"] !== undefined))
    return bringing.uploads.begin(bringing, parseOrRefuse(isRest ? restFields : uploadFields, fields));
  const blob = await blobs.create();
  return { blob, hash: createHash("sha256"), [Symbol.asyncDispose]: () => blob[Symbol.asyncDispose]() };
}

async function receiveFile(
  part: MultipartFile,
  { blob, hash }: ArrivingFile,
  { maxBytes, watch }: { maxBytes: number; watch: ((chunk: Uint8Array) => void) | undefined },
): Promise<string> {
  const refusal = (): HubError => tooLarge(`The file is larger than ${maxBytes} bytes.`);
  if (blob.size > maxBytes) throw refusal();
  for await (const chunk of part.file as AsyncIterable<Buffer>) {
    if (blob.size + chunk.length > maxBytes) throw refusal();
    hash.update(chunk);
    watch?.(chunk);
    await blob.write(chunk);
    countBuffered(chunk.length);
    await uploadTurns.take(chunk.length);
  }
  await blob.flush();
  return hash.copy().digest("hex");
}

/** Whether an error is the end of a connection, or of a body that was given up, rather than a refusal. */
const isCut = (error: unknown, { raw }: FastifyRequest): boolean =>
  !(error instanceof HubError) &&
  !raw.complete &&
  (raw.destroyed || raw.readableAborted) &&
  (!isFileSystemError(error) || (error as NodeJS.ErrnoException).code === "ECONNRESET");

/** Drains an unexpected file, up to the bytes that a form may have beyond its own file. */
async function skipFile(part: MultipartFile): Promise<void> {
  let bytes = 0;
  for await (const chunk of part.file as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > FORM_OVERHEAD_BYTES) throw tooLarge(`${part.fieldname} is larger than ${FORM_OVERHEAD_BYTES} bytes.`);
  }
}

/** Reads and drops the rest of a rejected body, so that the sender can read the answer. */
function dropRest({ raw }: FastifyRequest): void {
  raw.on("data", (chunk: Buffer) => countBuffered(chunk.length));
  // A listener alone does not start a stream that was unpiped.
  raw.resume();
}

/**
 * Receives a multipart form, with its parts in any order, in constant memory; its one file goes to the blob store while
 * it is hashed. Leaves nothing behind when the form is rejected, nor when the sender disconnects, unless the upload has
 * an id.
 *
 * @throws 400 for a malformed form, 413 over a limit, 422 for a field that is not text
 */
export async function receiveUpload(request: FastifyRequest, options: UploadOptions): Promise<ReceivedForm> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > options.maxBytes + FORM_OVERHEAD_BYTES)
    throw tooLarge(`The file is larger than ${options.maxBytes} bytes.`);
  // No prototype: a field may have any name.
  const fields = Object.create(null) as Record<string, string>;
  await using received = new AsyncDisposableStack();
  let file: UploadedFile | undefined;
  let arriving: ArrivingFile | undefined;
  try {
    const limits = { ...LIMITS, fileSize: Number.MAX_SAFE_INTEGER };
    for await (const part of request.parts({ limits })) {
      if (part.type === "file") {
        const isRest = options.bringing !== undefined && part.fieldname === REST_PART;
        if (!isRest && part.fieldname !== options.part) {
          await skipFile(part);
        } else if (file !== undefined) {
          throw badRequest(`${options.part} is given twice.`);
        } else {
          const watch = options.onFile?.(fields, !isRest);
          arriving = received.use(await openFile(fields, isRest, options));
          file = { blob: arriving.blob, sha256: await receiveFile(part, arriving, { ...options, watch }) };
        }
        continue;
      }
      if (part.fieldname === options.part)
        throw unprocessable(`${part.fieldname}: must be a file part, with a file name.`);
      if (part.valueTruncated) throw tooLarge(`${part.fieldname} is longer than ${LIMITS.fieldSize} bytes.`);
      if (typeof part.value !== "string") throw unprocessable(`${part.fieldname}: must be text.`);
      if (part.fieldname in fields) throw badRequest(`${part.fieldname} is given twice.`);
      fields[part.fieldname] = part.value;
    }
    arriving?.whole?.();
    // Verifying a large file takes time in which nothing moves on the connection.
    request.raw.socket.setTimeout(0);
    const kept = received.move();
    return { fields, file, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  } catch (error) {
    if (isCut(error, request)) await arriving?.keep?.();
    throw asAnswer(error);
  } finally {
    request.raw.unpipe();
    dropRest(request);
  }
}

/** Returns the fields of a form and its file. @throws 422 naming every missing field; 400 for binary ones */
export function completeForm<Fields extends z.ZodObject>(
  upload: ReceivedForm,
  part: string,
  fields: Fields,
): { fields: z.output<Fields>; file: UploadedFile } {
  const form = parseOrRefuse(fields.extend({ [part]: z.object({}, "must be a file part") }), {
    ...upload.fields,
    [part]: upload.file,
  });
  return { fields: form as z.output<Fields>, file: upload.file! };
}
