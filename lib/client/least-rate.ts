import { LEAST_BYTES_PER_SECOND } from "../contract/deployment-defaults.ts";

/** The slowest transfer that is still waited for. */
export interface LeastRate {
  bytesPerSecond: number;
  /** Milliseconds of waiting over which the rate is taken. */
  overMs: number;
}

/**
 * A hub that drips a byte now and then would hold a deployment's lock for ever: no silence of it is long enough
 * for a time-out.
 */
export const LEAST_RATE: Readonly<LeastRate> = { bytesPerSecond: LEAST_BYTES_PER_SECOND, overMs: 30_000 };

/**
 * Passes chunks on, and throws what `tooSlow` returns when fewer than {@link LeastRate} come. Only the time counts in
 * which the other side is waited for, not what the reader takes for itself.
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
