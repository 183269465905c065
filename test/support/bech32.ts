/** Keys as `age` writes them: Bech32 (BIP 173), for 32 bytes. */

const LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];

function checksumOf(values: readonly number[]): number {
  let sum = 1;
  for (const value of values) {
    const top = sum >>> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ value;
    GENERATOR.forEach((word, bit) => {
      if ((top >>> bit) & 1) sum ^= word;
    });
  }
  return sum;
}

/** Returns the Bech32 text of 32 bytes. @param prefix `age`, or `age-secret-key-` */
export function bech32(prefix: string, bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const values = (bits.match(/.{1,5}/g) ?? []).map((five) => parseInt(five.padEnd(5, "0"), 2));
  const codes = [...prefix].map((letter) => letter.charCodeAt(0));
  const expanded = [...codes.map((code) => code >> 5), 0, ...codes.map((code) => code & 31)];
  const sum = checksumOf([...expanded, ...values, 0, 0, 0, 0, 0, 0]) ^ 1;
  const check = [0, 1, 2, 3, 4, 5].map((at) => (sum >>> (5 * (5 - at))) & 31);
  return `${prefix}1${[...values, ...check].map((value) => LETTERS[value]).join("")}`;
}
