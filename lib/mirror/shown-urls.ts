import { MOUNTS } from "../contract/surfaces/paths.ts";
import type { Artifact } from "./hub-artifacts.ts";

/**
 * Pattern of the hub's download URLs; a mirror requests no others. An id begins with no dot, in any encoding, so no URL
 * leads to another path.
 */
export const DOWNLOAD = new RegExp(
  `^${MOUNTS.deploy}/v1/downloads/(\\w[\\w.~%-]{0,255})\\?expires=(\\d{1,16})(?:&key=[\\w.~%-]{1,64})?&signature=([0-9a-f]{1,128})$`,
);

const MAX_URLS = 10_000;

/** Download URLs that the hub has accepted. They are valid until they expire, while the hub cannot be reached. */
export class ShownUrls {
  /** Accepted URLs, the oldest first. */
  readonly #accepted = new Map<string, { artifact: Artifact; expiresMs: number }>();

  /** @param expiresMs by the clock of the hub */
  accept(path: string, artifact: Artifact, expiresMs: number): void {
    this.#accepted.delete(path);
    this.#accepted.set(path, { artifact, expiresMs });
    const [oldest] = this.#accepted.keys();
    if (this.#accepted.size > MAX_URLS) this.#accepted.delete(oldest!);
  }

  /** Forgets a URL that the hub now refuses. */
  refuse(path: string): void {
    this.#accepted.delete(path);
  }

  /** Returns the artifact of an unexpired URL that the hub has accepted before. */
  find(path: string, now = Date.now()): Artifact | undefined {
    const found = this.#accepted.get(path);
    return found !== undefined && now < found.expiresMs ? found.artifact : undefined;
  }
}
