import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** Lifetime of a session, in milliseconds, however much it is used. */
export const SESSION_MS = 8 * 60 * 60 * 1000;

const PREFIX = "slw_";
const HASH_BYTES = 32;
const EXPIRY_BYTES = 6;
const NONCE_BYTES = 16;
const MAC_BYTES = 32;
const SALT_BYTES = 12;

/** Live session. */
export interface WebSession {
  /** SHA-256 of the key, hexadecimal. */
  keyHash: string;
  /** Person whom the identity provider has authenticated; undefined for a session of a key. */
  subject: string | undefined;
}

/**
 * Sessions of people at the pages. A token holds the hash of a key and a MAC, so every hub of the database can verify
 * it and none stores it. Each request looks the key up: revoking it ends its sessions.
 */
export class WebSessions {
  readonly #key: Buffer;
  readonly #clock: () => number;
  readonly #grants: readonly string[];

  /**
   * @param key 32 bytes, shared by every hub of one database
   * @param grants names of the grants that people's sessions may be bound to
   */
  constructor(key: Buffer, clock: () => number, grants: readonly string[] = []) {
    this.#key = key;
    this.#clock = clock;
    this.#grants = grants;
  }

  #mac(purpose: "session" | "person" | "form", ...parts: readonly (Uint8Array | string)[]): Buffer {
    const mac = createHmac("sha256", this.#key).update(purpose);
    for (const part of parts) mac.update("\0").update(part);
    return mac.digest();
  }

  /**
   * Issues a token.
   *
   * @param keyHash SHA-256 of the key, hexadecimal
   * @param person the person, and the name of the grant whose removal ends the session
   */
  issue(keyHash: string, person?: { subject: string; grant: string }): string {
    const body = Buffer.alloc(HASH_BYTES + EXPIRY_BYTES + NONCE_BYTES);
    body.write(keyHash, "hex");
    body.writeUIntBE(this.#clock() + SESSION_MS, HASH_BYTES, EXPIRY_BYTES);
    randomBytes(NONCE_BYTES).copy(body, HASH_BYTES + EXPIRY_BYTES);
    const whole = Buffer.concat([body, Buffer.from(person?.subject ?? "")]);
    const mac = person === undefined ? this.#mac("session", whole) : this.#mac("person", person.grant, whole);
    return PREFIX + Buffer.concat([whole, mac]).toString("base64url");
  }

  /** Returns the session of a token; undefined for a token of another hub, or an expired one. */
  read(token: string): WebSession | undefined {
    if (!token.startsWith(PREFIX)) return undefined;
    const bytes = Buffer.from(token.slice(PREFIX.length), "base64url");
    const length = HASH_BYTES + EXPIRY_BYTES + NONCE_BYTES;
    if (bytes.length < length + MAC_BYTES) return undefined;
    const body = bytes.subarray(0, -MAC_BYTES);
    const isSealedBy = (mac: Buffer): boolean => timingSafeEqual(mac, bytes.subarray(-MAC_BYTES));
    const subject = body.length > length ? body.toString("utf8", length) : undefined;
    const isOurs =
      subject === undefined
        ? isSealedBy(this.#mac("session", body))
        : this.#grants.some((grant) => isSealedBy(this.#mac("person", grant, body)));
    if (!isOurs || body.readUIntBE(HASH_BYTES, EXPIRY_BYTES) <= this.#clock()) return undefined;
    return { keyHash: body.toString("hex", 0, HASH_BYTES), subject };
  }

  /**
   * Returns the token that a form carries. It differs in each page, so that the size of a compressed page reveals
   * nothing about it.
   *
   * @param cookie the value of the visitor's cookie
   */
  formToken(cookie: string): string {
    const salt = randomBytes(SALT_BYTES);
    return Buffer.concat([salt, this.#mac("form", salt, cookie)]).toString("base64url");
  }

  isFormToken(token: string, cookie: string): boolean {
    const bytes = Buffer.from(token, "base64url");
    if (bytes.length !== SALT_BYTES + MAC_BYTES) return false;
    const salt = bytes.subarray(0, SALT_BYTES);
    return timingSafeEqual(this.#mac("form", salt, cookie), bytes.subarray(SALT_BYTES));
  }
}
