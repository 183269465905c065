import type { ClientRequest } from "node:http";
import got, { type Request } from "got";
import { openRequest } from "../support/network/exchange.ts";
import type { HttpResponse } from "./http.ts";
import { BODILESS, type JsonResponse } from "./json-exchange.ts";

/** Answer that can be given up. */
type GotResponse = JsonResponse & Pick<HttpResponse, "discard">;

/**
 * Makes one exchange of JSON for a person's command, without redirects. Resolves when the headers have arrived. A host
 * has `exchangeJson`: got would stay in the memory of a watch that runs for months.
 */
export function exchangeByGot(
  url: URL,
  headers: Record<string, string>,
  request: { method: string; json?: unknown },
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal },
): Promise<GotResponse> {
  let sent: ClientRequest | undefined;
  let isOver = false;
  const stream: Request = got.stream(url, {
    method: request.method,
    headers,
    ...(request.json !== undefined && { json: request.json }),
    followRedirect: false,
    throwHttpErrors: false,
    retry: { limit: 0 },
    request(address, options) {
      sent = openRequest(address, { ...options, timeoutMs, signal });
      // From here on its connection may serve another request.
      sent.once("close", () => (isOver = true));
      return sent;
    },
  });
  // Without a body got leaves the request open for writing.
  if (request.method !== "GET" && request.json === undefined) stream.end();
  return new Promise((resolve, reject) => {
    let response: GotResponse | undefined;
    stream.once("response", (answer: { statusCode: number; headers: JsonResponse["headers"] }) => {
      const { statusCode: status, headers } = answer;
      const discard = (): void => {
        stream.on("error", () => {});
        // Nothing follows these headers: the connection can be reused.
        if (BODILESS.has(status)) return void stream.resume();
        stream.destroy();
        // An answer that arrived whole and unread would keep the process alive while the server holds the connection.
        if (!isOver) sent?.socket?.destroy();
      };
      response = { status, headers, body: stream, discard };
      resolve(response);
    });
    stream.once("error", (error: Error) => {
      // The reader of the body handles its later errors.
      if (response === undefined) reject(error);
    });
  });
}
