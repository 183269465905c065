import { createHash } from "node:crypto";
import type { MultipartFile } from "@fastify/multipart";
import type { FastifyRequest } from "fastify";
import type { Blobs, IncomingBlob } from "../blobs/port.ts";
import { countBuffered } from "../buffer-collection.ts";
import { badRequest, HubError, tooLarge, unprocessable } from "../http/errors.ts";

/** Bounds of a form's text fields; the file has its own limit. */
const LIMITS = { fieldNameSize: 100, fieldSize: 8192, fields: 32, files: 4, parts: 36, headerPairs: 32 };
/** What a form may weigh beside its file. Bytes. */
const FORM_OVERHEAD = 1024 * 1024;

/** A form that arrived whole. Whoever receives it commits or discards the blob. */
export interface Upload {
  fields: Record<string, string>;
  /** Undefined when the form had no such part. */
  file: { blob: IncomingBlob; sha256: string } | undefined;
}

export interface UploadOptions {
  blobs: Blobs;
  /** Name of the file part. */
  part: string;
  /** Bytes of the file. */
  maxSize: number;
  /**
   * Hears of the file's beginning, with the fields that came before it, and may look at the bytes as they pass. What it throws
   * ends the upload early.
   */
  onFile?: (fields: Record<string, string>) => ((chunk: Uint8Array) => void) | undefined;
}

const isFileSystemError = (error: unknown): boolean => (error as NodeJS.ErrnoException).syscall !== undefined;

/** The parser's and the connection's errors are the sender's; the disk's are ours. */
function asAnswer(error: unknown): unknown {
  if (error instanceof HubError) return error;
  const { code, statusCode, message } = error as { code?: string; statusCode?: number; message: string };
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new HubError(507, "disk_full", "The hub has no room for the upload.", { cause: error });
  }
  if (isFileSystemError(error) && code !== "ECONNRESET") return error;
  if (statusCode === 413) return tooLarge(`The form is too large: ${message}.`);
  return badRequest(`The form is malformed or ended early: ${message}.`);
}

async function receiveFile(
  part: MultipartFile,
  blob: IncomingBlob,
  { maxSize, watch }: { maxSize: number; watch: ((chunk: Uint8Array) => void) | undefined },
): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of part.file as AsyncIterable<Buffer>) {
    if (blob.size + chunk.length > maxSize) throw tooLarge(`The file is larger than ${maxSize} bytes.`);
    hash.update(chunk);
    watch?.(chunk);
    await blob.write(chunk);
    countBuffered(chunk.length);
  }
  await blob.flush();
  return hash.digest("hex");
}

/**
 * Receives a multipart form whose one file goes to the blob store while it is hashed; the parts may come in any order. Memory does
 * not grow with the file, and nothing is left when the sender dies or the form is refused.
 *
 * @throws 400 for a malformed form, 413 over a limit, 422 for a field that is no text
 */
export async function receiveUpload(request: FastifyRequest, options: UploadOptions): Promise<Upload> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > options.maxSize + FORM_OVERHEAD) throw tooLarge(`The file is larger than ${options.maxSize} bytes.`);
  // No prototype: a field may be called anything.
  const fields = Object.create(null) as Record<string, string>;
  let blob: IncomingBlob | undefined;
  let sha256 = "";
  try {
    const limits = { ...LIMITS, fileSize: Number.MAX_SAFE_INTEGER };
    for await (const part of request.parts({ limits })) {
      if (part.type === "file") {
        if (part.fieldname !== options.part) {
          part.file.resume();
        } else if (blob !== undefined) {
          throw badRequest(`${part.fieldname} is given twice.`);
        } else {
          const watch = options.onFile?.(fields);
          blob = await options.blobs.create();
          sha256 = await receiveFile(part, blob, { maxSize: options.maxSize, watch });
        }
        continue;
      }
      if (part.valueTruncated) throw tooLarge(`${part.fieldname} is longer than ${LIMITS.fieldSize} bytes.`);
      if (typeof part.value !== "string") throw unprocessable(`${part.fieldname}: must be text.`);
      if (part.fieldname in fields) throw badRequest(`${part.fieldname} is given twice.`);
      fields[part.fieldname] = part.value;
    }
    // Verifying a large file takes its time, and meanwhile nothing moves on the connection.
    request.raw.socket.setTimeout(0);
    return { fields, file: blob && { blob, sha256 } };
  } catch (error) {
    await blob?.discard();
    throw asAnswer(error);
  } finally {
    // What is left of a refused form is read and dropped, so that the sender gets to read the answer.
    request.raw.unpipe();
    request.raw.resume();
  }
}
