import type { Writable } from "node:stream";
import { setImmediate } from "node:timers";
import { MAX_FRAME_BYTES } from "./json.ts";

/**
 * Frames of a sandbox's channel: `length (4 bytes, big endian) ‖ header length (4 bytes) ‖ header (JSON) ‖ body (JSON
 * text)`. The body of a call or reply is passed on as text, so that it is serialized once. Both ends use this file.
 */

const PREFIX = 8;
const MAX_HEADER_BYTES = 64 * 1024;

export interface Frame {
  header: Record<string, unknown> & { t: string };
  /** JSON text, or empty. */
  body: string;
  /** Body of a frame whose header has `b: 1`: raw bytes of a request or an answer. */
  bytes?: Buffer;
}

/** Error of bytes that are not a frame; the channel cannot be read any further. */
export class FrameError extends Error {
  override name = "FrameError";
}

/** Encodes a frame. @throws RangeError for a header that the other end would reject */
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
 * Returns a function that writes frames. While `isBusy`, all frames of a turn of the event loop are written together at
 * its end: under load one system call carries many. Otherwise the first one is written at once, and with `now` each is.
 */
export function frameWriter(socket: Writable, isBusy: () => boolean): (frame: Buffer, now?: boolean) => void {
  let isCorked = false;
  return (frame, now = false) => {
    const leaves = now || (!isCorked && !isBusy());
    if (isCorked && leaves) socket.uncork();
    if (!isCorked) {
      isCorked = true;
      setImmediate(() => {
        isCorked = false;
        socket.uncork();
      });
      if (!leaves) socket.cork();
    }
    socket.write(frame);
    if (leaves) socket.cork();
  };
}

/** Reads the frame that lies between two offsets. Nothing of the result shares memory with `buffer`. */
function decode(buffer: Buffer, start: number, end: number): Frame {
  const headLength = buffer.readUInt32BE(start + 4);
  const body = start + PREFIX + headLength;
  if (headLength > MAX_HEADER_BYTES || body > end) throw new FrameError("a header's length is wrong");
  let header: unknown;
  try {
    header = JSON.parse(buffer.toString("utf8", start + PREFIX, body));
  } catch {
    throw new FrameError("a header is not JSON");
  }
  if (typeof header !== "object" || header === null || typeof (header as { t?: unknown }).t !== "string") {
    throw new FrameError("a header has no type");
  }
  const known = header as Frame["header"];
  if (known["b"] === 1) return { header: known, body: "", bytes: Buffer.from(buffer.subarray(body, end)) };
  return { header: known, body: body === end ? "" : buffer.toString("utf8", body, end) };
}

/** Returns where a frame ends, counted from its start. @throws FrameError for an impossible length */
function lengthAt(buffer: Buffer, start: number): number {
  const length = buffer.readUInt32BE(start);
  if (length < 4 || length > MAX_FRAME_BYTES) throw new FrameError(`a frame of ${length} bytes`);
  return 4 + length;
}

const NOTHING = Buffer.alloc(0);
/** Bytes of the buffer for partial frames that is kept for reuse: garbage outside of V8's heap is collected late. */
const KEPT_BYTES = 1024 * 1024 + MAX_HEADER_BYTES;

/** Splits a stream of chunks into frames. Memory is limited by the largest frame. */
export class FrameReader {
  /** Beginning of a partial frame. */
  #held: Buffer = NOTHING;
  #filled = 0;

  /**
   * Yields the frames that end in `chunk`, whose memory may be reused afterwards.
   *
   * @throws FrameError as soon as a length or header is impossible
   */
  *push(chunk: Buffer): Generator<Frame> {
    let at = 0;
    while (at < chunk.length) {
      const left = chunk.length - at;
      if (this.#filled === 0 && left >= PREFIX) {
        const length = lengthAt(chunk, at);
        if (length <= left) {
          at += length;
          yield decode(chunk, at - length, at);
          continue;
        }
      }
      at += this.#hold(chunk, at, PREFIX);
      if (this.#filled < PREFIX) return;
      const length = lengthAt(this.#held, 0);
      at += this.#hold(chunk, at, length);
      if (this.#filled < length) return;
      const frame = this.#held;
      this.#filled = 0;
      if (frame.length > KEPT_BYTES) this.#held = NOTHING;
      yield decode(frame, 0, length);
    }
  }

  /** Appends to the held beginning until it has `wanted` bytes. @returns how many were taken */
  #hold(chunk: Buffer, at: number, wanted: number): number {
    const taken = Math.min(Math.max(0, wanted - this.#filled), chunk.length - at);
    if (this.#held.length < wanted) {
      const larger = Buffer.allocUnsafeSlow(wanted);
      this.#held.copy(larger, 0, 0, this.#filled);
      this.#held = larger;
    }
    chunk.copy(this.#held, this.#filled, at, at + taken);
    this.#filled += taken;
    return taken;
  }
}
