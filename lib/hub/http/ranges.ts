import type { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { missing } from "../../support/files.ts";
import { askedRange, type ByteRange } from "../../support/network/byte-ranges.ts";
import { matchesEtag } from "../../support/network/entity-tags.ts";
import { HubError, notFound } from "../base/errors.ts";
import type { Blobs } from "../blobs/port.ts";

/** Representation with a strong validator. */
export interface Representation {
  /** Size in bytes. */
  size: number;
  /** SHA-256 of the bytes, hexadecimal, from which the ETag is made. */
  sha256: string;
  /** Returns the bytes, or a range of them; for a text all of it, in UTF-8. */
  read(range: ByteRange | undefined): Promise<Readable | Buffer> | Buffer | string;
}

/** Matches the ids of deltas and indexes. Who gets none does without it at once, and so must not be told to wait. */
const OPTIONAL = /^(?:dlt|idx)_/;

/** Returns stored bytes as a representation. */
export const blobBytes = (
  blobs: Blobs,
  { id, size, sha256 }: { id: string; size: number; sha256: string },
): Representation => ({
  size,
  sha256,
  async read(range) {
    if (size === 0) return Buffer.alloc(0);
    try {
      return await blobs.read(id, range);
    } catch (error) {
      if (!missing(error)) throw error;
      if (OPTIONAL.test(id)) throw notFound("The hub has lost these bytes; nobody needs them.");
      throw new HubError(503, "hub_unavailable", "The hub has lost the bytes of this version; publish it again.", {
        headers: { "retry-after": "60" },
        cause: error,
      });
    }
  },
});

/** Returns a text in memory as a representation: Node writes it together with the headers. */
export function textBytes(text: string, sha256: string): Representation {
  return {
    size: Buffer.byteLength(text),
    sha256,
    read: (range) => (range ? Buffer.from(text).subarray(range.start, range.end + 1) : text),
  };
}

/** Parses the range that a request asks for. @throws 416 when it lies outside */
export function rangeOf(headers: FastifyRequest["headers"], size: number, etag: string): ByteRange | undefined {
  const range = askedRange(headers, size, etag);
  if (range !== "outside") return range;
  throw new HubError(416, "bad_request", `The range lies outside the ${size} bytes.`, {
    headers: { "content-range": `bytes */${size}`, "accept-ranges": "bytes" },
  });
}

/**
 * Answers GET and HEAD with bytes: conditional requests, one range, strong ETag, exact length.
 *
 * @param headers further headers of the representation, with Content-Type
 */
export async function sendBytes(
  request: FastifyRequest,
  reply: FastifyReply,
  representation: Representation,
  headers: Record<string, string>,
): Promise<FastifyReply> {
  const { size, sha256 } = representation;
  const etag = `"sha256-${sha256}"`;
  reply.headers({ etag, "accept-ranges": "bytes", "cache-control": "private", ...headers });
  if (matchesEtag(request.headers["if-none-match"], etag)) return reply.code(304).removeHeader("content-type").send();

  const range = rangeOf(request.headers, size, etag);
  const length = range === undefined ? size : range.end - range.start + 1;
  reply.header("content-length", String(length));
  if (range !== undefined) {
    reply.code(206).header("content-range", `bytes ${range.start}-${range.end}/${size}`);
  }
  if (request.method === "HEAD") return reply.send();
  return reply.send(await representation.read(range));
}
