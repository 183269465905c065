import { randomBytes } from "node:crypto";
import { halfSipHash } from "./half-sip-hash.ts";

/** Names that a table has room for at first, and their bytes together: it grows with copies of all of them. */
export interface Expected {
  names: number;
  bytes: number;
}
const FEW: Expected = { names: 1024, bytes: 64 * 1024 };
/** Bytes that a unit of a string takes as UTF-8, at most. */
const BYTES_PER_UNIT = 3;
/** Slots for each name, at least. */
const SPARSE = 2;

/**
 * A hash table of names with a small number each, which takes a third of the memory of a map of strings: an archive may
 * have a million. Names that are the same when they are folded are one. The hash has a secret key, so that nobody can
 * make names that fall together.
 */
export class NameTable implements Disposable {
  readonly #fold: (name: string) => string;
  readonly #key = new Uint32Array(randomBytes(8).buffer);
  #length = 0;
  /** Names as they were spelled, one behind the other. */
  #names: Buffer;
  #ends: Float64Array;
  /** Of the folded names. */
  #hashes: Uint32Array;
  #kinds: Uint8Array;
  /** Index of a name, and one more; 0 for none. Their number is a power of two. */
  #slots: Uint32Array;
  #folded = Buffer.allocUnsafeSlow(1024);

  /** @param fold gives the same text for all names that are one */
  constructor(fold: (name: string) => string, { names, bytes }: Expected = FEW) {
    this.#fold = fold;
    this.#names = Buffer.allocUnsafeSlow(bytes);
    this.#ends = new Float64Array(names);
    this.#hashes = new Uint32Array(names);
    this.#kinds = new Uint8Array(names);
    this.#slots = new Uint32Array(2 ** Math.ceil(Math.log2(names * SPARSE)));
  }

  /**
   * Adds a name, unless it is there.
   *
   * @param kind 0 to 255
   * @returns its index, or the one of the name that was there
   */
  add(name: string, kind: number): { index: number; isNew: boolean } {
    const folded = this.#fold(name);
    const end = this.#write(name);
    const hash = folded === name ? this.#hashFrom(this.#end, end) : this.#hashOf(folded);
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (; this.#slots[slot] !== 0; slot = (slot + 1) & mask) {
      const index = this.#slots[slot]! - 1;
      if (this.#hashes[index] === hash && this.#fold(this.nameAt(index)) === folded) return { index, isNew: false };
    }
    const index = this.#append(end, kind, hash);
    this.#slots[slot] = index + 1;
    if (this.#length * SPARSE > mask) this.#spread(this.#slots.length * 2);
    return { index, isNew: true };
  }

  nameAt(index: number): string {
    return this.#names.toString("utf8", this.#startOf(index), this.#ends[index]);
  }

  kindAt(index: number): number {
    return this.#kinds[index]!;
  }

  setKind(index: number, kind: number): void {
    this.#kinds[index] = kind;
  }

  /** Frees the memory now, rather than with a collection. */
  [Symbol.dispose](): void {
    for (const column of [this.#names, this.#ends, this.#hashes, this.#kinds, this.#slots]) free(column);
  }

  #hashOf(text: string): number {
    const bytes = text.length * BYTES_PER_UNIT;
    if (this.#folded.length < bytes) this.#folded = Buffer.allocUnsafeSlow(bytes);
    return halfSipHash(this.#folded, 0, this.#folded.write(text), this.#key);
  }

  #hashFrom(start: number, end: number): number {
    return halfSipHash(this.#names, start, end - start, this.#key);
  }

  /** Writes a name behind the others. It is one of them once it is appended. @returns its end */
  #write(name: string): number {
    const start = this.#end;
    const bytes = name.length * BYTES_PER_UNIT;
    if (this.#names.length - start < bytes)
      this.#names = larger(this.#names, Buffer.allocUnsafeSlow((start + bytes) * 2));
    return start + this.#names.write(name, start);
  }

  get #end(): number {
    return this.#startOf(this.#length);
  }

  #startOf(index: number): number {
    return index === 0 ? 0 : this.#ends[index - 1]!;
  }

  #append(end: number, kind: number, hash: number): number {
    const index = this.#length++;
    if (index === this.#ends.length) {
      this.#ends = larger(this.#ends, new Float64Array(index * 2));
      this.#hashes = larger(this.#hashes, new Uint32Array(index * 2));
      this.#kinds = larger(this.#kinds, new Uint8Array(index * 2));
    }
    this.#ends[index] = end;
    this.#hashes[index] = hash;
    this.#kinds[index] = kind;
    return index;
  }

  /** Makes the slots anew. */
  #spread(length: number): void {
    const mask = length - 1;
    free(this.#slots);
    this.#slots = new Uint32Array(length);
    for (let index = 0; index < this.#length; index++) {
      let slot = this.#hashes[index]! & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = index + 1;
    }
  }
}

type Column = Float64Array | Uint32Array | Uint8Array;

function free({ buffer }: Column): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

function larger<Kind extends Column>(old: Kind, room: Kind): Kind {
  room.set(old);
  free(old);
  return room;
}
