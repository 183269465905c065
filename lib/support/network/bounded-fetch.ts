import { exchange, type ExchangeOptions } from "./exchange.ts";

/** Request of a library that talks to identity providers through the fetch interface. */
interface FetchRequest {
  method?: string;
  headers?: Record<string, string> | Headers;
  body?: unknown;
  signal?: AbortSignal | undefined;
}

/** Limits of a {@link boundedFetch}. */
interface FetchLimits {
  /** Longest silence of the server, and longest answer from its head to its end, in milliseconds. */
  timeoutMs: number;
  maxBytes: number;
  /** Returns how to connect to an address. @throws for an address that is not allowed */
  connect?: (url: URL) => Pick<ExchangeOptions, "agent" | "lookup">;
}

/**
 * Returns a fetch for libraries that reads each answer whole, within limits, and follows no redirect. Sends no bodies
 * but forms.
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
