import type { Code } from "../contract/codes.ts";
import { SealiftError } from "../contract/errors.ts";

/** Contiguous part of a download that an earlier run has kept. */
export interface KeptRange {
  /** Offset of its first byte, at least 1. What is before it is always fetched, which shows whether it still fits. */
  from: number;
  /** Offset after its last byte, at most `size`. */
  end: number;
  /** Size of the whole download, in bytes. */
  size: number;
  /** ETag of the whole download; undefined where the server gave none. */
  etag: string | undefined;
}

/** Download under way, as far as it decides whether its bytes are worth keeping. */
export interface Progress {
  /** Size of the whole download, in bytes; undefined where the server states none. */
  size: number | undefined;
  etag: string | undefined;
  /** Bytes that the network has brought in this run. */
  fetched: number;
  /** Time spent waiting for the network in this run, in milliseconds. */
  waitedMs: number;
}

/**
 * Bytes of a download that outlive an interruption. Nothing is believed of them: whoever reads the download checks its
 * signature. None of these calls throws, but for {@link read}.
 */
export interface KeptBytes {
  /**
   * Whether the server has refused a part of this download. The whole is asked for then, without the kept bytes, and
   * the first request for it is made once: a server that is merely down would refuse the whole as well.
   */
  readonly isRefused: boolean;
  /** Returns the bytes that an earlier run has kept; undefined for none. */
  find(): Promise<KeptRange | undefined>;
  /** Streams kept bytes. It may end early. */
  read(range: KeptRange): AsyncIterable<Buffer>;
  /**
   * Takes a piece from the network, once each, in order. A promise must be awaited before the piece is used elsewhere.
   *
   * @param at its offset in the whole download
   */
  take(piece: Buffer, at: number, progress: Progress): Promise<void> | undefined;
  /** Drops the kept bytes: the server has other ones now. */
  refuse(why: Error): Promise<void>;
  /** Tells that the download itself has failed, not what was made of its bytes. */
  lost(why: unknown): void;
}

/** Failures without an answer of the server: the network is away, silent, or was cut in the middle. */
const OF_THE_NETWORK: ReadonlySet<Code> = new Set(["connection_failed", "timed_out", "download_incomplete"]);

/** Tells whether a download failed since the server has answered with something else than the bytes asked for. */
export const isAnswer = (why: unknown): boolean =>
  why instanceof SealiftError && (why.status !== undefined || !OF_THE_NETWORK.has(why.code));

/** Time of waiting before which no rate is known, in milliseconds. */
const KNOWN_AFTER_MS = 2000;
/** Time from which on a download is worth a second write of its bytes, in milliseconds. */
const SLOW_MS = 10_000;

type Rate = Pick<Progress, "fetched" | "waitedMs">;

/**
 * Tells whether a download is so slow that its bytes are worth a second write: it has waited for the network for two
 * seconds, and at this rate the rest takes longer than ten.
 *
 * @param restBytes bytes still to come
 */
export const isSlow = (restBytes: number, { fetched, waitedMs }: Rate): boolean =>
  waitedMs >= KNOWN_AFTER_MS && restBytes * waitedMs > SLOW_MS * fetched;

/** Tells whether a download that began slowly is fast after all: at its rate the whole takes ten seconds at most. */
export const isFast = (size: number, { fetched, waitedMs }: Rate): boolean =>
  waitedMs >= KNOWN_AFTER_MS && size * waitedMs <= SLOW_MS * fetched;
