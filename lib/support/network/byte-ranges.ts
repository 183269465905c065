import type { IncomingHttpHeaders } from "node:http";
import { parse } from "range-parser";

/** Range of bytes of a representation, first and last included. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Parses the range that a request asks for (RFC 9110, 13.1.5 and 14); several ranges or a malformed header mean the
 * whole.
 *
 * @param etag strong validator of the representation, if it has one
 * @returns undefined for the whole, and "outside" for a range that the representation does not have
 */
export function askedRange(
  { range, "if-range": condition }: IncomingHttpHeaders,
  size: number,
  etag: string | undefined,
): ByteRange | "outside" | undefined {
  if (range === undefined || (condition !== undefined && condition !== etag)) return undefined;
  if (!/^bytes=/.test(range)) return undefined;
  const { ranges } = parse(size, range);
  if (ranges.length === 0) return "outside";
  const only = ranges.length === 1 ? ranges[0] : undefined;
  return only && { start: only.start, end: only.end };
}
