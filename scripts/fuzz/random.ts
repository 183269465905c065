/** Random numbers from a seed, so that every case can be repeated. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a whole number from 0 up to, not including, `below` (mulberry32). */
  below(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }

  /** Returns true once in `times`. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }
}

/** Changes a few bytes: single ones, runs, and pieces that are repeated, moved or removed. */
export function mutated(bytes: Buffer, random: Random, unit: number): Buffer {
  let changed: Buffer = Buffer.from(bytes);
  for (let changes = random.below(3); changes >= 0; changes--) {
    const at = random.below(changed.length);
    const block = at - (at % unit);
    const piece = changed.subarray(block, block + unit * (1 + random.below(2)));
    switch (random.below(6)) {
      case 0:
      case 1:
        changed[at] = random.below(256);
        break;
      case 2:
        changed[at] = random.pick([0, 0x20, 0x2f, 0x30, 0x37, 0x80, 0xff]);
        break;
      case 3:
        changed = Buffer.concat([changed.subarray(0, block), piece, changed.subarray(block)]);
        break;
      case 4:
        changed = Buffer.concat([changed.subarray(0, block), changed.subarray(block + piece.length)]);
        break;
      default:
        changed = Buffer.concat([changed, piece]);
    }
    if (changed.length === 0) return bytes;
  }
  return changed;
}
