import { createHmac, timingSafeEqual } from "node:crypto";
import { download } from "../../contract/downloads/routes.ts";
import { pathOf } from "../../contract/surfaces/paths.ts";
import { HubError } from "../base/errors.ts";

/** Lifetime of a download URL, in milliseconds. */
const DOWNLOAD_LIFETIME_MS = 15 * 60 * 1000;

/** Query parameters of a download URL. */
interface Shown {
  /** Expiry, in seconds since 1970. */
  expires: string;
  /** Id of the key that the URL was made for. */
  key: string;
  signature: string;
}

const segment = encodeURIComponent;
const forbiddenUrl = (message: string) => new HubError(403, "forbidden", message);

/** Makes and checks URLs that carry their own expiring authorisation (docs/contract/deploy.md). */
export class DownloadUrls {
  readonly #key: Buffer;
  readonly lifetimeMs: number;

  /** @param key 32 bytes, shared by every hub of one database */
  constructor(key: Buffer, lifetimeMs = DOWNLOAD_LIFETIME_MS) {
    this.#key = key;
    this.lifetimeMs = lifetimeMs;
  }

  #signature(artifactId: string, expires: string, keyId: string): Buffer {
    return createHmac("sha256", this.#key).update(`${artifactId}\n${expires}\n${keyId}`).digest();
  }

  /**
   * Returns the path and query of a download URL.
   *
   * @param keyId the caller's key: the URL holds as long as that does
   */
  create(artifactId: string, keyId: string, now: number): string {
    const expires = String(Math.floor((now + this.lifetimeMs) / 1000));
    const signature = this.#signature(artifactId, expires, keyId).toString("hex");
    return `${pathOf(download, { id: artifactId })}?expires=${expires}&key=${segment(keyId)}&signature=${signature}`;
  }

  /** Verifies a download URL. @throws 403 for a forged or expired one */
  check(artifactId: string, { expires, key, signature }: Shown, now: number): void {
    const given = Buffer.from(signature, "hex");
    const expected = this.#signature(artifactId, expires, key);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw forbiddenUrl("The download URL's signature does not verify.");
    }
    if (Number(expires) * 1000 <= now) {
      throw forbiddenUrl("The download URL has expired; ask for the artifact's location again.");
    }
  }
}
