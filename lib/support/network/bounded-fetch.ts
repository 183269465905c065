import { exchange, type ExchangeOptions } from "./exchange.ts";

/** A request of a library that speaks to identity providers in the words of fetch. */
interface FetchRequest {
  method?: string;
  headers?: Record<string, string> | Headers;
  body?: unknown;
  signal?: AbortSignal | undefined;
}

/** The limits of a {@link boundedFetch}. */
interface FetchLimits {
  /** Longest silence of the server, and longest answer from its head to its end, in milliseconds. */
  timeoutMs: number;
  maxBytes: number;
  /** Returns how the connection to an address is made. @throws for an address that may not be asked */
  connect?: (url: URL) => Pick<ExchangeOptions, "agent" | "lookup">;
}

/**
 * Returns a fetch for libraries that reads each answer as a whole, within limits, and follows no redirect. Forms are
 * the only bodies that it sends.
 *
 * @throws Error for an answer that is too long or too slow, and the errors of `exchange`
 */
export const boundedFetch =
  ({ timeoutMs, maxBytes, connect }: FetchLimits) =>
  async (address: string | URL, { method = "GET", headers = {}, body, signal }: FetchRequest): Promise<Response> => {
    if (typeof body === "object" && body !== null && !(body instanceof URLSearchParams))
      throw new TypeError("only forms are sent to an identity provider");
    const url = new URL(address);
    const limit = AbortSignal.timeout(timeoutMs);
    const options = {
      ...{ method, headers: Object.fromEntries(new Headers(headers)), timeoutMs },
      ...connect?.(url),
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    };
    const answer = await exchange(url, options, body?.toString());
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxBytes) throw new Error("the answer is too long");
      chunks.push(chunk);
    }
    const fields = Object.entries(answer.body.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    );
    return new Response(length === 0 ? null : Buffer.concat(chunks), { status: answer.status, headers: fields });
  };
