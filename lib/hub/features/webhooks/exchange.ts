import { once } from "node:events";
import { exchange, ImproperAnswerError, SilenceError } from "../../../support/network/exchange.ts";
import { followRedirects } from "../../../support/redirects.ts";
import { settledWithin } from "../../../support/within.ts";
import { BadDestination, type Destinations } from "../../base/destinations.ts";

const MAX_REDIRECTS = 3;
/** Milliseconds for connecting, for the answer's head, and for each silence. */
const SILENCE_MS = 15_000;
/** Bytes of an answer that are read, and for how long; nothing in it counts. */
const MAX_ANSWER_BYTES = 16 * 1024;
const ANSWER_MS = 1000;

/** The end of an attempt to send a message. */
export type AttemptOutcome =
  | { kind: "delivered" }
  /** @param retryAfterMs as long as the receiver wants to be left alone */
  | { kind: "failed"; error: string; isGone: boolean; retryAfterMs: number };

interface Post {
  headers: Record<string, string>;
  body: string;
  /** Ends everything, after the time that an attempt may take. */
  signal: AbortSignal;
}

interface Answered {
  status: number;
  location: string | undefined;
  retryAfter: string | undefined;
  discard(): void;
}

/** One request on a connection of its own, to an address that was checked. */
async function ask(destinations: Destinations, url: URL, { headers, body, signal }: Post): Promise<Answered> {
  destinations.check(url);
  const answer = await exchange(
    url,
    {
      method: "POST",
      headers: { ...headers, "content-length": Buffer.byteLength(body) },
      // A connection of a pool might lead to where nobody has checked.
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

/** Sends a message. Redirects that keep method and body are followed, each to an address that is checked anew. */
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

/** Says why an attempt has failed, in words that hold nothing of the URL. */
function wordsFor(error: unknown): string {
  if (error instanceof BadDestination) return `the address ${error.message}`;
  if (error instanceof ImproperAnswerError) return `the receiver ${error.message}`;
  const { name, code, message } = error as NodeJS.ErrnoException;
  if (name === "AbortError" || error instanceof SilenceError) return "the receiver took too long";
  return code === undefined ? message : `no connection, or it broke off: ${code}`;
}
