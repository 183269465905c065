import type { IncomingMessage } from "node:http";
import { pipeline, type Readable } from "node:stream";
import { exchange, type ExchangeOptions } from "../support/network/exchange.ts";

/** Encodings of answers that are decoded; a proxy before the hub may use one. */
const ENCODINGS = "gzip, br";

/** Statuses whose answers never have a body (RFC 9110, 6.4.1). */
export const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/** Head and body of an answer of JSON. */
export interface JsonResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** Decoded body. */
  body: Readable;
}

/** Makes one exchange of JSON for a host, without redirects. Resolves when the headers have arrived. */
export async function exchangeJson(
  url: URL,
  headers: Record<string, string>,
  { method, json }: { method: string; json?: unknown },
  limits: Pick<ExchangeOptions, "timeoutMs" | "signal">,
): Promise<JsonResponse> {
  const text = json === undefined ? undefined : JSON.stringify(json);
  const length = text !== undefined && { "content-length": String(Buffer.byteLength(text)) };
  const about = { "accept-encoding": ENCODINGS, ...(text !== undefined && { "content-type": "application/json" }) };
  const answer = await exchange(url, { method, headers: { ...about, ...headers, ...length }, ...limits }, text);
  const { status, headers: told, body } = answer;
  return { status, headers: told, body: decoded(body, told["content-encoding"]) };
}

/** Loads Node's decoders, which most answers do not need. */
const zlib = () => process.getBuiltinModule("node:zlib");

/** Returns the decoded body of an answer; one in an encoding that is not known here as it came. */
function decoded(body: IncomingMessage, encoding: string | undefined): Readable {
  switch (encoding?.toLowerCase()) {
    case "gzip":
    case "x-gzip":
      return pipeline(body, zlib().createGunzip(), () => {});
    case "br":
      return pipeline(body, zlib().createBrotliDecompress(), () => {});
    default:
      return body;
  }
}
