import { rm } from "node:fs/promises";
import type { MirrorUse } from "../../client/download.ts";
import { asSealiftError } from "../../contract/errors.ts";
import type { KeptDownload } from "./kept-download.ts";
import type { FetchContext } from "./source.ts";

/**
 * Mirrors of one run, none of which is trusted: one that fails, or whose bytes the publisher has not signed, gets a
 * warning and is not used again; the next source is tried in the same run. Errors of a fetch always concern the hub's
 * own bytes.
 */
export class RunMirrors implements MirrorUse {
  readonly #context: Pick<FetchContext, "emit" | "signal">;
  #urls: readonly string[];
  /** Mirrors whose bytes the current attempt has used. */
  readonly #used = new Set<string>();
  #isRefused = false;

  /** @param urls root URLs, in the order of use */
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

  /** Watches the request for the key: when the hub refuses it, no mirror is to blame. */
  needs(dek: Promise<unknown>): void {
    this.#isRefused = false;
    dek.catch(() => (this.#isRefused = true));
  }

  /**
   * Fetches through the remaining mirrors, and again without those whose bytes could not be verified.
   *
   * @param tree folder that an attempt fills, removed between attempts; undefined where an attempt cleans up itself
   * @param attempt calls its argument once the signature of the bytes has been verified
   * @param kept bytes of an earlier run that attempts use. They are the first to be left aside
   */
  async fetch<T>(
    tree: string | undefined,
    attempt: (onVerified: () => void) => Promise<T>,
    kept?: KeptDownload,
  ): Promise<T> {
    let isFetched = false;
    try {
      const fetched = await this.#fetch(tree, attempt, kept);
      isFetched = true;
      return fetched;
    } finally {
      await kept?.end(isFetched);
    }
  }

  async #fetch<T>(
    tree: string | undefined,
    attempt: (onVerified: () => void) => Promise<T>,
    kept: KeptDownload | undefined,
  ): Promise<T> {
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
        if (!signal.aborted && !this.#isRefused && (await kept?.judge(thrown, isVerified)) === true) {
          if (tree !== undefined) await rm(tree, { recursive: true, force: true });
          continue;
        }
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
