/** Bytes that a unit of a string takes as UTF-8, at most. */
const BYTES_PER_UNIT = 3;
/** Room at first. Pages that nothing is written to cost no memory. */
const PATHS = 128 * 1024;
const BYTES = 8 * 1024 * 1024;

/** Many paths as bytes, one behind the other: a third of the memory of as many strings. */
export class PathList {
  #bytes = Buffer.allocUnsafeSlow(BYTES);
  #ends = new Float64Array(PATHS);
  #length = 0;

  push(path: string): void {
    const start = this.#startOf(this.#length);
    const wanted = start + path.length * BYTES_PER_UNIT;
    if (wanted > this.#bytes.length) {
      const room = Buffer.allocUnsafeSlow(wanted * 2);
      this.#bytes.copy(room);
      this.#bytes = room;
    }
    if (this.#length === this.#ends.length) {
      const ends = new Float64Array(this.#length * 2);
      ends.set(this.#ends);
      this.#ends = ends;
    }
    this.#ends[this.#length++] = start + this.#bytes.write(path, start);
  }

  at(index: number): string {
    return this.#bytes.toString("utf8", this.#startOf(index), this.#ends[index]);
  }

  #startOf(index: number): number {
    return index === 0 ? 0 : this.#ends[index - 1]!;
  }
}
