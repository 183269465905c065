import { rm } from "node:fs/promises";
import type { MirrorUse } from "../../client/download.ts";
import { asSealiftError } from "../../contract/errors.ts";
import type { FetchContext } from "./source.ts";

/**
 * The mirrors of one run. Nothing that they send is believed: one that fails, or whose bytes are not those that the
 * publisher signed, is named in a warning and asked no more, and the next source is asked in the same run. Errors of a
 * fetch are always about the hub's own bytes.
 */
export class RunMirrors implements MirrorUse {
  readonly #context: Pick<FetchContext, "emit" | "signal">;
  #urls: readonly string[];
  /** Mirrors whose bytes the attempt that runs has taken. */
  readonly #used = new Set<string>();
  #isRefused = false;

  /** @param urls their roots, in the order in which they are asked */
  constructor(urls: readonly string[], context: Pick<FetchContext, "emit" | "signal">) {
    this.#urls = [...new Set(urls)];
    this.#context = context;
  }

  get urls(): readonly string[] {
    return this.#urls;
  }

  readonly onUsed = (url: string): void => void this.#used.add(url);

  readonly onLeft = (url: string, why: string): void => {
    this.#urls = this.#urls.filter((other) => other !== url);
    this.#warn(`The mirror ${originOf(url)} was of no use, and the next source is asked: ${why}`);
  };

  /** Watches for the key of what is fetched: when the hub refuses it, no mirror is to blame. */
  needs(dek: Promise<unknown>): void {
    this.#isRefused = false;
    dek.catch(() => (this.#isRefused = true));
  }

  /**
   * Fetches through the mirrors that are left, and again without those whose bytes could not be verified.
   *
   * @param tree the folder that an attempt fills; removed between two of them. Left out where an attempt cleans up
   * @param attempt calls its argument once the signature of the bytes has been verified
   */
  async fetch<T>(tree: string | undefined, attempt: (onVerified: () => void) => Promise<T>): Promise<T> {
    const { emit, signal } = this.#context;
    for (;;) {
      this.#used.clear();
      let isVerified = false;
      try {
        return await attempt(() => {
          isVerified = true;
          emit({ event: "verify.ok", check: "signature" });
        });
      } catch (thrown) {
        const { code, message } = asSealiftError(thrown, "ArtifactError");
        const isTheirs = this.#used.size > 0 && !isVerified && !this.#isRefused && code !== "disk_full";
        if (!isTheirs || signal.aborted) throw thrown;
        const names = [...this.#used].map(originOf).join(" and ");
        this.#warn(`The bytes that came through the mirror ${names} are left aside (${code}): ${message}`);
        this.#urls = this.#urls.filter((url) => !this.#used.has(url));
        if (tree !== undefined) await rm(tree, { recursive: true, force: true });
      }
    }
  }

  #warn(message: string): void {
    this.#context.emit({ event: "warning", message });
  }
}

const originOf = (url: string): string => new URL(url).origin;
