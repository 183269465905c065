import { LEAST_BYTES_PER_SECOND } from "../contract/deployment-defaults.ts";

/** Slowest transfer that is accepted. */
export interface LeastRate {
  bytesPerSecond: number;
  /** Time over which the rate is measured, in milliseconds of waiting. */
  overMs: number;
}

/**
 * Default least rate. A hub that drips a byte now and then would otherwise hold a deployment's lock for ever, without
 * ever reaching a time-out.
 */
export const LEAST_RATE: Readonly<LeastRate> = { bytesPerSecond: LEAST_BYTES_PER_SECOND, overMs: 30_000 };

/**
 * Passes chunks on, and throws the error of `tooSlow` when they arrive below {@link LeastRate}. Counts only time spent
 * waiting for the sender, not the reader's own.
 */
export async function* atLeastRate(
  body: AsyncIterable<Buffer>,
  tooSlow: (rate: LeastRate) => Error,
  rate: LeastRate = LEAST_RATE,
): AsyncGenerator<Buffer> {
  let waitedMs = 0;
  let bytes = 0;
  let since = performance.now();
  for await (const chunk of body) {
    waitedMs += performance.now() - since;
    bytes += chunk.length;
    if (waitedMs >= rate.overMs) {
      if (bytes < (rate.bytesPerSecond * waitedMs) / 1000) throw tooSlow(rate);
      waitedMs = 0;
      bytes = 0;
    }
    yield chunk;
    since = performance.now();
  }
}
