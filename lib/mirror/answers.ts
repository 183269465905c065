import type { ServerResponse } from "node:http";
import type { Code } from "../contract/codes.ts";
import type { HubRefusal } from "./hub-artifacts.ts";

export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify(body);
  const length = { "content-type": "application/json; charset=utf-8", "content-length": Buffer.byteLength(text) };
  response.writeHead(status, { ...headers, ...length }).end(text);
}

/** Sends an error in the form of the hub's. */
export const refuse = (
  response: ServerResponse,
  status: number,
  code: Code,
  message: string,
  headers: Record<string, string> = {},
): void => sendJson(response, status, { error: message, detail: message, code }, headers);

/** Passes on an answer of the hub that has no bytes of an artifact. */
export function passOn(response: ServerResponse, { status, contentType, retryAfter, body }: HubRefusal): void {
  const headers = { "content-type": contentType, "content-length": body.length };
  response.writeHead(status, { ...headers, ...(retryAfter !== undefined && { "retry-after": retryAfter }) }).end(body);
}

/**
 * Writes a chunk. Settles when its bytes have left the process, so that its buffer is free again. @throws when the
 * caller has disconnected
 */
export const written = (response: ServerResponse, chunk: Buffer): Promise<void> =>
  new Promise((resolve, reject) => response.write(chunk, (error) => (error ? reject(error) : resolve())));
