import { randomBytes } from "node:crypto";
import { halfSipHash } from "./half-sip-hash.ts";

/** Names that a table has room for at first, where nobody knows better: it grows with copies. */
const FEW = 1024;
/** Bytes that a unit of a string takes as UTF-8, at most. */
const BYTES_PER_UNIT = 3;
/** Slots for each name, at least. */
const SPARSE = 2;

/**
 * A hash table of names with a small number each. The names themselves are in lists of its owner's: an archive may have
 * a million, and a second copy of each would be most of the memory. Names that are the same when they are folded are
 * one. The hash has a secret key, so that nobody can make names that fall together.
 */
export class NameTable implements Disposable {
  readonly #nameOf: (entry: number) => string;
  readonly #fold: (name: string) => string;
  readonly #key = new Uint32Array(randomBytes(8).buffer);
  #length = 0;
  /** The owner's numbers of the names. */
  #entries: Int32Array;
  /** Of the folded names. */
  #hashes: Uint32Array;
  #kinds: Uint8Array;
  /** Index of a name, and one more; 0 for none. Their number is a power of two. */
  #slots: Uint32Array;
  #folded = Buffer.allocUnsafeSlow(1024);

  /**
   * @param nameOf gives a name that was added, by the owner's number of it
   * @param fold gives the same text for all names that are one
   * @param expected names; there may be more
   */
  constructor(nameOf: (entry: number) => string, fold: (name: string) => string, expected = FEW) {
    this.#nameOf = nameOf;
    this.#fold = fold;
    this.#entries = new Int32Array(expected);
    this.#hashes = new Uint32Array(expected);
    this.#kinds = new Uint8Array(expected);
    this.#slots = new Uint32Array(2 ** Math.ceil(Math.log2(expected * SPARSE)));
  }

  /**
   * Adds a name, unless it is there.
   *
   * @param entry the owner's number of it, -2^31 to 2^31 - 1; it is asked for the name when a later one may be the same
   * @param kind 0 to 255
   * @returns its index, or the one of the name that was there
   */
  add(name: string, entry: number, kind: number): { index: number; isNew: boolean } {
    const folded = this.#fold(name);
    const hash = this.#hashOf(folded);
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (; this.#slots[slot] !== 0; slot = (slot + 1) & mask) {
      const index = this.#slots[slot]! - 1;
      if (this.#hashes[index] === hash && this.#fold(this.nameAt(index)) === folded) return { index, isNew: false };
    }
    const index = this.#append(entry, kind, hash);
    this.#slots[slot] = index + 1;
    if (this.#length * SPARSE > mask) this.#spread(this.#slots.length * 2);
    return { index, isNew: true };
  }

  /** The name as it was spelled when it was added. */
  nameAt(index: number): string {
    return this.#nameOf(this.#entries[index]!);
  }

  kindAt(index: number): number {
    return this.#kinds[index]!;
  }

  setKind(index: number, kind: number): void {
    this.#kinds[index] = kind;
  }

  /** Frees the memory now, rather than with a collection. */
  [Symbol.dispose](): void {
    for (const column of [this.#entries, this.#hashes, this.#kinds, this.#slots]) free(column);
  }

  #hashOf(text: string): number {
    const bytes = text.length * BYTES_PER_UNIT;
    if (this.#folded.length < bytes) this.#folded = Buffer.allocUnsafeSlow(bytes);
    return halfSipHash(this.#folded, 0, this.#folded.write(text), this.#key);
  }

  #append(entry: number, kind: number, hash: number): number {
    const index = this.#length++;
    if (index === this.#hashes.length) {
      this.#entries = larger(this.#entries, new Int32Array(index * 2));
      this.#hashes = larger(this.#hashes, new Uint32Array(index * 2));
      this.#kinds = larger(this.#kinds, new Uint8Array(index * 2));
    }
    this.#entries[index] = entry;
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

type Column = Int32Array | Uint32Array | Uint8Array;

function free({ buffer }: Column): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

function larger<Kind extends Column>(old: Kind, room: Kind): Kind {
  room.set(old);
  free(old);
  return room;
}
