import { artifactError, type SealiftError } from "../../contract/errors.ts";

const MAGIC = 0xfd2fb528;
const MAX_HEADER_BYTES = 18;
const BLOCK_HEADER_BYTES = 3;
const CHECKSUM_BYTES = 4;
/** Largest window that a reader accepts, as a power of two (docs/contract/project-artifact.md). */
export const MAX_WINDOW_LOG = 25;
const MAX_WINDOW = 2 ** MAX_WINDOW_LOG;

const invalid = (why: string): SealiftError =>
  artifactError("zstd_invalid", `The artifact's content is not one proper zstd frame: ${why}.`, {
    hint: "Ask its publisher to build it again.",
  });

export interface FrameHeader {
  /** Length of the header itself, in bytes. */
  length: number;
  contentSize: number;
  windowSize: number;
  checksum: boolean;
}

/** Parses a frame header (RFC 8878, 3.1.1.1); undefined while there are too few bytes. */
export function parseFrameHeader(bytes: Buffer): FrameHeader | undefined {
  if (bytes.length < 5) return undefined;
  if (bytes.readUInt32LE(0) !== MAGIC) throw invalid("it does not start with a frame");
  const descriptor = bytes[4]!;
  const singleSegment = (descriptor & 0x20) !== 0;
  if ((descriptor & 0x08) !== 0) throw invalid("a reserved bit is set");
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 0x03]!;
  const sizeFlag = descriptor >> 6;
  const sizeBytes = [singleSegment ? 1 : 0, 2, 4, 8][sizeFlag]!;
  if (sizeBytes === 0) throw invalid("its header does not carry the content size");
  const windowBytes = singleSegment ? 0 : 1;
  const length = 5 + windowBytes + dictionaryBytes + sizeBytes;
  if (bytes.length < length) return undefined;
  if (dictionaryBytes > 0 && bytes.readUIntLE(5 + windowBytes, dictionaryBytes) !== 0)
    throw invalid("it needs a dictionary");
  const sizeAt = length - sizeBytes;
  const size = sizeBytes === 8 ? bytes.readBigUInt64LE(sizeAt) : BigInt(bytes.readUIntLE(sizeAt, sizeBytes));
  const contentSize = Number(sizeBytes === 2 ? size + 256n : size);
  if (!Number.isSafeInteger(contentSize)) throw invalid("its content size is absurd");
  let windowSize = contentSize;
  if (!singleSegment) {
    const window = bytes[5]!;
    const base = 2 ** (10 + (window >> 3));
    windowSize = base + (base / 8) * (window & 7);
  }
  if (windowSize > MAX_WINDOW) throw invalid(`its window of ${windowSize} bytes is larger than 2^${MAX_WINDOW_LOG}`);
  return { length, contentSize, windowSize, checksum: (descriptor & 0x04) !== 0 };
}

/**
 * Checks the block headers of a zstd stream as it passes: exactly one frame with its content size and an allowed
 * window, and nothing after it. Node's decoder reports neither a second frame nor trailing bytes.
 *
 * @throws ArtifactError `zstd_invalid` from {@link push} and {@link end}
 */
export class FrameWalker {
  header: FrameHeader | undefined;
  #pending = Buffer.alloc(0);
  /** Bytes of the current block (or the checksum) still to pass. */
  #skip = 0;
  #lastBlock = false;
  #ended = false;

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#ended) throw invalid("bytes follow the frame");
      if (this.#skip > 0) {
        const passed = Math.min(this.#skip, rest.length);
        this.#skip -= passed;
        rest = rest.subarray(passed);
        if (this.#skip === 0 && this.#lastBlock) this.#endOfBlocks();
        continue;
      }
      rest = this.#takeHeader(rest);
    }
  }

  end(): void {
    if (!this.#ended) throw invalid("it ends early");
  }

  /** Collects a frame or block header, which may be spread over chunks. Returns the bytes after it. */
  #takeHeader(rest: Buffer): Buffer {
    const wanted = this.header === undefined ? MAX_HEADER_BYTES : BLOCK_HEADER_BYTES;
    const before = this.#pending.length;
    const gathered = Buffer.concat([this.#pending, rest.subarray(0, wanted - before)]);
    if (this.header === undefined) {
      this.header = parseFrameHeader(gathered);
      if (this.header !== undefined) {
        this.#pending = Buffer.alloc(0);
        return rest.subarray(this.header.length - before);
      }
    } else if (gathered.length === BLOCK_HEADER_BYTES) {
      this.#block(gathered.readUIntLE(0, BLOCK_HEADER_BYTES), this.header);
      this.#pending = Buffer.alloc(0);
      return rest.subarray(BLOCK_HEADER_BYTES - before);
    }
    this.#pending = gathered;
    return rest.subarray(gathered.length - before);
  }

  #block(header: number, frame: FrameHeader): void {
    const type = (header >> 1) & 0x03;
    const size = header >> 3;
    if (type === 3) throw invalid("a block has the reserved type");
    if (size > Math.min(frame.windowSize, 128 * 1024) && frame.windowSize > 0) throw invalid("a block is too large");
    this.#lastBlock = (header & 0x01) !== 0;
    this.#skip = type === 1 ? 1 : size;
    if (this.#skip === 0 && this.#lastBlock) this.#endOfBlocks();
  }

  #checksumSeen = false;

  #endOfBlocks(): void {
    if (this.header!.checksum && !this.#checksumSeen) {
      this.#checksumSeen = true;
      this.#skip = CHECKSUM_BYTES;
    } else {
      this.#ended = true;
    }
  }
}
