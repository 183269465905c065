import { once } from "node:events";
import { exchange, ImproperAnswerError, SilenceError } from "../../../support/network/exchange.ts";
import { followRedirects } from "../../../support/redirects.ts";
import { settledWithin } from "../../../support/within.ts";
import { BadDestination, type Destinations } from "../../base/destinations.ts";

const MAX_REDIRECTS = 3;
/** Time limit for connecting, for the answer's head, and for each silence, in milliseconds. */
const SILENCE_MS = 15_000;
/** Most bytes of an answer that are read; nothing in it counts. */
const MAX_ANSWER_BYTES = 16 * 1024;
const ANSWER_MS = 1000;

/** Outcome of an attempt to deliver a message. */
export type AttemptOutcome =
  | { kind: "delivered" }
  /** @param retryAfterMs milliseconds for which the receiver wants to be left alone */
  | { kind: "failed"; error: string; isGone: boolean; retryAfterMs: number };

interface Post {
  headers: Record<string, string>;
  body: string;
  /** Aborts the attempt when its time is up. */
  signal: AbortSignal;
}

interface Answered {
  status: number;
  location: string | undefined;
  retryAfter: string | undefined;
  discard(): void;
}

/** Sends one request on a connection of its own, to an address that was checked. */
async function ask(destinations: Destinations, url: URL, { headers, body, signal }: Post): Promise<Answered> {
  destinations.check(url);
  const answer = await exchange(
    url,
    {
      method: "POST",
      headers: { ...headers, "content-length": Buffer.byteLength(body) },
      // A pooled connection might lead to an address that was never checked.
      agent: false,
      lookup: destinations.lookup(url),
      timeoutMs: SILENCE_MS,
      signal,
    },
    body,
  );
  const { status, headers: answered, body: unread } = answer;
  unread.on("error", () => {});
  try {
    let received = 0;
    unread.on("data", (chunk: Buffer) => {
      if ((received += chunk.length) > MAX_ANSWER_BYTES) unread.destroy();
    });
    await settledWithin(once(unread, "close"), ANSWER_MS);
    return { status, location: answered.location, retryAfter: answered["retry-after"], discard: () => {} };
  } finally {
    unread.destroy();
  }
}

/** Delivers a message. Follows redirects that keep method and body, and checks each new address. */
export async function post(destinations: Destinations, url: URL, message: Post): Promise<AttemptOutcome> {
  try {
    const { answer } = await followRedirects(url, {
      max: MAX_REDIRECTS,
      ask: (next) => ask(destinations, next, message),
      admit(next, _from, status) {
        if (status < 307) throw new Error(`the receiver redirects with ${status}, which would lose the message`);
        destinations.check(next);
      },
      mark: ({ href }) => href,
      refused: (fault) => new Error(`the receiver's redirect is not followed: ${fault}`),
    });
    const { status, retryAfter } = answer;
    if (status >= 200 && status < 300) return { kind: "delivered" };
    const seconds = Number(retryAfter ?? 0);
    const retryAfterMs = seconds > 0 ? seconds * 1000 : 0;
    return { kind: "failed", error: `the receiver answered ${status}`, isGone: status === 410, retryAfterMs };
  } catch (error) {
    return { kind: "failed", error: wordsFor(error), isGone: false, retryAfterMs: 0 };
  }
}

/** Describes why an attempt failed, without any part of the URL. */
function wordsFor(error: unknown): string {
  if (error instanceof BadDestination) return `the address ${error.message}`;
  if (error instanceof ImproperAnswerError) return `the receiver ${error.message}`;
  const { name, code, message } = error as NodeJS.ErrnoException;
  if (name === "AbortError" || error instanceof SilenceError) return "the receiver took too long";
  return code === undefined ? message : `no connection, or it broke off: ${code}`;
}
