import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const PREFIX = "sls_";
const RANDOM_BYTES = 24;
const MAC_BYTES = 16;

/**
 * Makes access tokens of 192 random bits and a MAC, by which any hub of the database can tell an expired token from a
 * guess.
 */
export class SessionTokens {
  readonly #key: Buffer;

  /** @param key 32 bytes, shared by every hub of one database */
  constructor(key: Buffer) {
    this.#key = key;
  }

  #mac(random: Uint8Array): Buffer {
    return createHmac("sha256", this.#key).update(random).digest().subarray(0, MAC_BYTES);
  }

  issue(): string {
    const random = randomBytes(RANDOM_BYTES);
    return PREFIX + Buffer.concat([random, this.#mac(random)]).toString("base64url");
  }

  /** True for a token issued by any hub of this database, whether or not its session is still live. */
  isOurs(token: string): boolean {
    if (!token.startsWith(PREFIX)) return false;
    const bytes = Buffer.from(token.slice(PREFIX.length), "base64url");
    if (bytes.length !== RANDOM_BYTES + MAC_BYTES) return false;
    return timingSafeEqual(this.#mac(bytes.subarray(0, RANDOM_BYTES)), bytes.subarray(RANDOM_BYTES));
  }
}
