import { isAbort } from "../../contract/errors.ts";
import { exchange, SilenceError } from "./exchange.ts";

/** Time limit of one question where nothing else bounds it, in milliseconds. */
export const PROBE_TIMEOUT_MS = 5_000;
/** Most bytes of an answer that are read: a healthy server must not see its answer cut short for want of a few. */
const MAX_BODY_BYTES = 64 * 1024;

/** Form of what is wrong with a program that answers an error of its own. 503 says "not yet", and is none. */
const SERVER_ERROR = / answered 5(?!03$)\d\d$/;

/** Tells whether a fault of {@link probe} is an answer by which a program says that it fails. */
export const isServerError = (fault: string): boolean => SERVER_ERROR.test(fault);

/**
 * Asks a program of this host once over HTTP whether it works: a GET whose answer is 2xx or 3xx. Follows no redirect.
 *
 * @param url comes from the operator, never from an artifact, except for its path
 * @param timeoutMs time limit of the whole answer
 * @returns undefined when healthy, otherwise what is wrong
 */
export async function probe(url: URL, signal?: AbortSignal, timeoutMs = PROBE_TIMEOUT_MS): Promise<string | undefined> {
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    const { status, body } = await exchange(url, {
      method: "GET",
      headers: { "user-agent": "sealift", connection: "close" },
      agent: false,
      timeoutMs,
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    if (status < 200 || status >= 400) {
      body.on("error", () => undefined).destroy();
      return `GET ${url.href} answered ${status}`;
    }
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) break;
    }
    return undefined;
  } catch (error) {
    signal?.throwIfAborted();
    return `GET ${url.href} failed: ${reasonOf(error as NodeJS.ErrnoException, timeoutMs)}`;
  }
}

function reasonOf(error: NodeJS.ErrnoException, timeoutMs: number): string {
  if (error instanceof SilenceError || error.name === "TimeoutError" || isAbort(error))
    return `no answer within ${Number((timeoutMs / 1000).toFixed(1))} s`;
  return error.code === "ECONNREFUSED" ? "nobody listens there (ECONNREFUSED)" : error.message;
}
