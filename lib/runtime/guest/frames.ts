import type { Writable } from "node:stream";
import { setImmediate } from "node:timers";
import { MAX_FRAME_BYTES } from "./json.ts";

/**
 * Frames of a sandbox's channel: `length (4 bytes, big endian) ‖ header length (4 bytes) ‖ header (JSON) ‖ body (JSON
 * text)`. The body of a call or reply passes through as text, so that it is serialised once. Both ends use this file.
 */

const PREFIX = 8;
const MAX_HEADER_BYTES = 64 * 1024;

export interface Frame {
  header: Record<string, unknown> & { t: string };
  /** JSON text, or empty. */
  body: string;
  /** The body of a frame whose header has `b: 1`: bytes of a request or an answer, as they are. */
  bytes?: Buffer;
}

/** The other side sent what is not a frame; the channel cannot be read any further. */
export class FrameError extends Error {
  override name = "FrameError";
}

/** @throws RangeError for a header that the other end would refuse */
export function encodeFrame(header: { t: string; [key: string]: unknown }, body: string | Uint8Array = ""): Buffer {
  const head = JSON.stringify(header);
  const headLength = Buffer.byteLength(head);
  if (headLength > MAX_HEADER_BYTES) throw new RangeError(`a header of ${headLength} bytes`);
  const bodyLength = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  const frame = Buffer.allocUnsafe(PREFIX + headLength + bodyLength);
  frame.writeUInt32BE(4 + headLength + bodyLength, 0);
  frame.writeUInt32BE(headLength, 4);
  frame.write(head, PREFIX, "utf8");
  if (typeof body === "string") frame.write(body, PREFIX + headLength, "utf8");
  else frame.set(body, PREFIX + headLength);
  return frame;
}

/**
 * Returns a function that writes frames. The first one of a turn of the event loop leaves at once, the others together
 * at its end: under load a system call carries many.
 */
export function frameWriter(socket: Writable): (frame: Buffer) => void {
  let isCorked = false;
  return (frame) => {
    socket.write(frame);
    if (isCorked) return;
    isCorked = true;
    socket.cork();
    setImmediate(() => {
      isCorked = false;
      socket.uncork();
    });
  };
}

function decode(frame: Buffer): Frame {
  const headLength = frame.readUInt32BE(4);
  if (headLength > MAX_HEADER_BYTES || PREFIX + headLength > frame.length)
    throw new FrameError("a header's length is wrong");
  let header: unknown;
  try {
    header = JSON.parse(frame.toString("utf8", PREFIX, PREFIX + headLength));
  } catch {
    throw new FrameError("a header is not JSON");
  }
  if (typeof header !== "object" || header === null || typeof (header as { t?: unknown }).t !== "string") {
    throw new FrameError("a header has no type");
  }
  const known = header as Frame["header"];
  if (known["b"] === 1) return { header: known, body: "", bytes: frame.subarray(PREFIX + headLength) };
  return { header: known, body: frame.toString("utf8", PREFIX + headLength) };
}

/** Cuts a stream of chunks into frames. Memory is bounded by the largest frame. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #size = 0;

  /** @throws FrameError as soon as a length or header cannot be right */
  *push(chunk: Buffer): Generator<Frame> {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    for (;;) {
      if (this.#size < PREFIX) return;
      if ((this.#chunks[0] as Buffer).length < PREFIX) this.#join();
      const length = (this.#chunks[0] as Buffer).readUInt32BE(0);
      if (length < 4 || length > MAX_FRAME_BYTES) throw new FrameError(`a frame of ${length} bytes`);
      const end = 4 + length;
      if (this.#size < end) return;
      if ((this.#chunks[0] as Buffer).length < end) this.#join();
      const first = this.#chunks[0] as Buffer;
      if (first.length === end) this.#chunks.shift();
      else this.#chunks[0] = first.subarray(end);
      this.#size -= end;
      yield decode(first.subarray(0, end));
    }
  }

  #join(): void {
    this.#chunks = [Buffer.concat(this.#chunks)];
  }
}
