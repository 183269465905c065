import type { FastifyReply } from "fastify";
import { HEADERS } from "../../contract/surfaces/headers.ts";

const JSON_TYPE = "application/json; charset=utf-8";

/** `{"status":"ok","plugin":…,"action":…,"result":` by plugin and action: the same text call after call. */
class AnswerPrefixes {
  readonly #texts = new Map<string, Map<string, string>>();

  of(plugin: string, action: string): string {
    let texts = this.#texts.get(plugin);
    if (texts === undefined) this.#texts.set(plugin, (texts = new Map<string, string>()));
    let text = texts.get(action);
    if (text === undefined) {
      text = `${JSON.stringify({ status: "ok", plugin, action }).slice(0, -1)},"result":`;
      texts.set(action, text);
    }
    return text;
  }
}

/** Answers a call that went well, `result` being JSON already. */
export type CallAnswerer = (reply: FastifyReply, plugin: string, action: string, result: string) => void;

/**
 * Returns a function that writes the answer of a call straight to the socket: there is nothing left that
 * Fastify's way of sending would do for a text that is JSON already, and it costs more than a trusted call.
 * @param isClosing whether connections are to end with their answer
 */
export function callAnswerer(isClosing: () => boolean): CallAnswerer {
  const prefixes = new AnswerPrefixes();
  return (reply, plugin, action, result) => {
    const text = `${prefixes.of(plugin, action)}${result}}`;
    reply.hijack();
    const headers = ["content-type", JSON_TYPE, "content-length", String(Buffer.byteLength(text))];
    headers.push(HEADERS.requestId, reply.request.id);
    if (isClosing()) headers.push("connection", "close");
    reply.raw.writeHead(200, headers);
    reply.raw.end(text);
  };
}
