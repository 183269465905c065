import { once } from "node:events";
import { type IncomingMessage, request as http } from "node:http";
import { request as https } from "node:https";
import { followRedirects } from "../../support/redirects.ts";
import { settledWithin } from "../../support/within.ts";
import { BadDestination, type Destinations } from "./destinations.ts";

const MAX_REDIRECTS = 3;
/** Bytes of an answer that are read, and for how long; nothing in it counts. */
const MAX_ANSWER_BYTES = 16 * 1024;
const ANSWER_MS = 1000;
const MAX_HEADER_BYTES = 16 * 1024;

/** The end of an attempt to send a message. */
export type Outcome =
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
  const request = (url.protocol === "https:" ? https : http)(url, {
    method: "POST",
    headers: { ...headers, "content-length": Buffer.byteLength(body) },
    // A connection of a pool might lead to where nobody has checked.
    agent: false,
    lookup: destinations.lookup(url),
    maxHeaderSize: MAX_HEADER_BYTES,
    signal,
  });
  try {
    request.end(body);
    const [response] = (await once(request, "response")) as [IncomingMessage];
    request.on("error", () => {});
    let received = 0;
    response.on("data", (chunk: Buffer) => {
      if ((received += chunk.length) > MAX_ANSWER_BYTES) request.destroy();
    });
    await settledWithin(once(response, "close"), ANSWER_MS);
    const { statusCode: status = 0, headers: answered } = response;
    return { status, location: answered.location, retryAfter: answered["retry-after"], discard: () => {} };
  } finally {
    request.on("error", () => {});
    request.destroy();
  }
}

/** Sends a message. Redirects that keep method and body are followed, each to an address that is checked anew. */
export async function post(destinations: Destinations, url: URL, message: Post): Promise<Outcome> {
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
  const { name, code, message } = error as NodeJS.ErrnoException;
  if (name === "AbortError" || name === "TimeoutError") return "the receiver took too long";
  return code === undefined ? message : `no connection, or it broke off: ${code}`;
}
