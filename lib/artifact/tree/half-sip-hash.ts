const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/**
 * HalfSipHash-2-4 with an output of 32 bits (Aumasson and Bernstein, https://github.com/veorq/SipHash): a short hash
 * whose values nobody can foresee without its key, for tables of names that others have chosen.
 *
 * @param start the place of the first byte that counts
 * @param length bytes that count
 * @param key two words
 */
export function halfSipHash(bytes: Buffer, start: number, length: number, key: Uint32Array): number {
  let v0 = key[0]! | 0;
  let v1 = key[1]! | 0;
  let v2 = v0 ^ 0x6c796765;
  let v3 = v1 ^ 0x74656462;
  const whole = start + (length & ~3);
  // Words of four bytes, one with the rest and the length, and the rounds at the end.
  for (let at = start; at <= whole + 4; at += 4) {
    let word = 0;
    let rounds = 2;
    if (at < whole) word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    else if (at === whole) {
      word = length << 24;
      for (let rest = whole; rest < start + length; rest++) word |= bytes[rest]! << ((rest - whole) * 8);
    } else {
      v2 ^= 0xff;
      rounds = 4;
    }
    v3 ^= word;
    for (; rounds > 0; rounds--) {
      v0 = (v0 + v1) | 0;
      v1 = rotate(v1, 5) ^ v0;
      v0 = rotate(v0, 16);
      v2 = (v2 + v3) | 0;
      v3 = rotate(v3, 8) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = rotate(v3, 7) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = rotate(v1, 13) ^ v2;
      v2 = rotate(v2, 16);
    }
    v0 ^= word;
  }
  return (v1 ^ v3) >>> 0;
}
