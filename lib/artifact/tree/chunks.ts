import { hash } from "node:crypto";

/**
 * Bytes of the smallest chunk; the last one of a file may be smaller. The next constant is the largest; the average is
 * about 16 KiB.
 */
export const MIN_CHUNK_BYTES = 4 * 1024;
export const MAX_CHUNK_BYTES = 64 * 1024;

/**
 * Bytes of a chunk's digest: the first half of its SHA-256. A completed file is checked by its whole SHA-256 in any
 * case.
 */
export const CHUNK_DIGEST_BYTES = 16;

/** Bytes covered by the rolling hash: each step shifts one bit out of 32. */
const WINDOW_BYTES = 32;
/** Mask of the 14 highest bits of the rolling hash. A chunk ends where they are zero: once in 16 KiB. */
const CUT_MASK = 0xfffc0000 | 0;

/** Random word for each byte value (SplitMix32 from a fixed seed). The table is part of the index format. */
const GEAR = Int32Array.from({ length: 256 }, (_, value) => {
  let word = (Math.imul(value + 1, 0x9e3779b9) + 0x5ea11f7) | 0;
  word = Math.imul(word ^ (word >>> 16), 0x21f0aaad);
  word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
  return word ^ (word >>> 15);
});

/**
 * Finds the end of the chunk that starts at `from`. The end depends only on the bytes before it, so that an insertion
 * moves later chunks without changing them.
 *
 * @param to end of the available bytes
 * @param last true when no bytes follow `to`
 * @returns the chunk's end; undefined when more bytes are needed
 */
export function chunkEnd(bytes: Uint8Array, from: number, to: number, last: boolean): number | undefined {
  const limit = Math.min(to, from + MAX_CHUNK_BYTES);
  let rolling = 0;
  const start = from + MIN_CHUNK_BYTES;
  for (let at = start - WINDOW_BYTES; at < start && at < limit; at++) rolling = (rolling << 1) + GEAR[bytes[at]!]!;
  for (let at = start; at < limit; at++) {
    rolling = ((rolling << 1) + GEAR[bytes[at]!]!) | 0;
    if ((rolling & CUT_MASK) === 0) return at + 1;
  }
  if (limit - from === MAX_CHUNK_BYTES) return limit;
  return last && to > from ? to : undefined;
}

/** Cuts one file into chunks as its bytes pass. */
export class Chunker {
  /** Bytes that belong to no chunk yet, with room for one more block. */
  #buffer = Buffer.alloc(0);
  #held = 0;
  readonly #onChunk: (length: number, digest: Buffer) => void;

  /** @param onChunk called with a chunk's length in bytes and the first {@link CHUNK_DIGEST_BYTES} of its SHA-256 */
  constructor(onChunk: (length: number, digest: Buffer) => void) {
    this.#onChunk = onChunk;
  }

  update(block: Uint8Array): void {
    if (this.#buffer.length < this.#held + block.length) {
      const larger = Buffer.allocUnsafeSlow(MAX_CHUNK_BYTES + Math.max(block.length, MAX_CHUNK_BYTES));
      this.#buffer.copy(larger, 0, 0, this.#held);
      this.#buffer = larger;
    }
    this.#buffer.set(block, this.#held);
    this.#held += block.length;
    this.#cut(false);
  }

  /** Ends the file; the chunker may be used for the next one. */
  end(): void {
    this.#cut(true);
  }

  #cut(last: boolean): void {
    let from = 0;
    for (;;) {
      const end = chunkEnd(this.#buffer, from, this.#held, last);
      if (end === undefined) break;
      this.#onChunk(end - from, digestOf(this.#buffer.subarray(from, end)));
      from = end;
    }
    this.#buffer.copyWithin(0, from, this.#held);
    this.#held -= from;
  }
}

const digestOf = (chunk: Uint8Array): Buffer => hash("sha256", chunk, "buffer").subarray(0, CHUNK_DIGEST_BYTES);

/** Bytes of one chunk in a {@link ChunkList}: its length less one, and its digest. */
const RECORD_BYTES = 2 + CHUNK_DIGEST_BYTES;

/** Packed chunks of one file: 18 bytes each, so that a file of many GiB needs about a thousandth of its size. */
export class ChunkList {
  #bytes: Buffer = Buffer.alloc(0);
  #used = 0;

  /** Wraps records as made by {@link toBuffer}. @param records owned by the list from now on */
  static of(records: Uint8Array): ChunkList {
    const list = new ChunkList();
    list.#bytes = Buffer.from(records.buffer, records.byteOffset, records.length);
    list.#used = records.length;
    return list;
  }

  /** Appends records as made by {@link toBuffer}. @returns false for incomplete records */
  append(records: Uint8Array): boolean {
    if (records.length % RECORD_BYTES !== 0) return false;
    this.#reserve(records.length);
    this.#bytes.set(records, this.#used);
    this.#used += records.length;
    return true;
  }

  push(length: number, digest: Uint8Array): void {
    this.#reserve(RECORD_BYTES);
    this.#bytes.writeUInt16LE(length - 1, this.#used);
    this.#bytes.set(digest, this.#used + 2);
    this.#used += RECORD_BYTES;
  }

  get count(): number {
    return this.#used / RECORD_BYTES;
  }

  lengthOf(index: number): number {
    return this.#bytes.readUInt16LE(index * RECORD_BYTES) + 1;
  }

  /** Returns the digest of one chunk, as a view. */
  digestOf(index: number): Buffer {
    return this.#bytes.subarray(index * RECORD_BYTES + 2, (index + 1) * RECORD_BYTES);
  }

  /** Returns the records from one chunk to another, as a view. */
  toBuffer(from = 0, to = this.count): Buffer {
    return this.#bytes.subarray(from * RECORD_BYTES, to * RECORD_BYTES);
  }

  /** Returns the bytes of all chunks together. */
  totalBytes(): number {
    let total = 0;
    for (let index = 0; index < this.count; index++) total += this.lengthOf(index);
    return total;
  }

  #reserve(bytes: number): void {
    if (this.#used + bytes <= this.#bytes.length) return;
    const larger = Buffer.alloc(Math.max(this.#used + bytes, this.#bytes.length * 2, 64 * RECORD_BYTES));
    this.#bytes.copy(larger, 0, 0, this.#used);
    this.#bytes = larger;
  }
}

/**
 * Finds chunks of one base file by length and digest: an open-addressing table over the packed list, 8 bytes a chunk.
 */
export class ChunkTable {
  readonly #list: ChunkList;
  /** Index of a chunk plus one; 0 is free. */
  readonly #slots: Int32Array;
  /** Start of each chunk in the base file. Doubles, since files may be larger than 4 GiB. */
  readonly #offsets: Float64Array;
  readonly #mask: number;

  constructor(list: ChunkList) {
    this.#list = list;
    const size = 2 ** Math.ceil(Math.log2(Math.max(2, list.count * 2)));
    this.#mask = size - 1;
    this.#slots = new Int32Array(size);
    this.#offsets = new Float64Array(list.count);
    let offset = 0;
    for (let index = 0; index < list.count; index++) {
      this.#offsets[index] = offset;
      offset += list.lengthOf(index);
      const found = this.#slotOf(list.lengthOf(index), list.digestOf(index));
      // The first of equal chunks stays: a run of zeros is copied from one place.
      if (this.#slots[found] === 0) this.#slots[found] = index + 1;
    }
  }

  /**
   * Returns the start of a chunk of this length and digest in the base file, in bytes; undefined without one.
   */
  offsetOf(length: number, digest: Uint8Array): number | undefined {
    const index = this.#slots[this.#slotOf(length, digest)]!;
    return index === 0 ? undefined : this.#offsets[index - 1];
  }

  #slotOf(length: number, digest: Uint8Array): number {
    const start = digest[0]! | (digest[1]! << 8) | (digest[2]! << 16) | (digest[3]! << 24);
    for (let slot = start & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const index = this.#slots[slot]! - 1;
      if (index === -1) return slot;
      if (this.#list.lengthOf(index) === length && this.#list.digestOf(index).equals(digest)) return slot;
    }
  }
}
