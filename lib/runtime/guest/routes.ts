import { Readable } from "node:stream";
import type { PluginContext } from "../../sdk/context.ts";
import type { RouteDefinition } from "../../sdk/definition.ts";
import type { RouteRequest } from "../../sdk/routes.ts";
import type { CallScope } from "./context.ts";
import { faultOfAction, RuntimeFault, stackOf } from "./fault.ts";
import type { Frame } from "./frames.ts";
import { parseJson } from "./json.ts";
import { GuestReply, ROUTE_WINDOW_BYTES, type RouteWire } from "./route-reply.ts";

/** Names a route in frames: its methods and its path. */
export const routeKey = ({ method, path }: Pick<RouteDefinition, "method" | "path">): string =>
  `${[method].flat().join(",")} ${path}`;

type Send = (header: Frame["header"], body?: string | Uint8Array) => void;

/** Request to a route of this plugin: body and answer are passed on as fast as the other end takes them. */
export class GuestRoute implements CallScope, RouteWire {
  readonly id: string;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  readonly #send: Send;
  readonly #header: Frame["header"];
  readonly #body: Readable | undefined;
  #controller: AbortController | undefined;
  #aborted: Error | undefined;
  /** Bytes of the request's body read, but not yet reported to the runtime. */
  #taken = 0;
  #credit = ROUTE_WINDOW_BYTES;
  #waiting: PromiseWithResolvers<void> | undefined;

  constructor({ header, bytes }: Frame, send: Send) {
    this.id = String(header["id"]);
    this.requestId = String(header["requestId"]);
    this.traceparent = header["traceparent"] as string | undefined;
    this.#send = send;
    this.#header = header;
    if (header["hasBody"] !== true) return;
    this.#body = new Readable({ highWaterMark: ROUTE_WINDOW_BYTES, read: () => this.#acknowledge() });
    this.#body.on("error", () => undefined);
    if (bytes !== undefined && bytes.length > 0) this.#body.push(bytes);
    if (header["ended"] === true) this.#body.push(null);
  }

  /** Takes a piece of the request's body. */
  take(bytes: Uint8Array): void {
    this.#taken += bytes.length;
    this.#body?.push(bytes);
  }

  /** Ends the request's body. */
  ended(): void {
    this.#body?.push(null);
  }

  /** Notes that the runtime has passed on bytes of the answer. */
  passed(bytes: unknown): void {
    this.#credit += Number(bytes);
    if (this.#credit <= 0) return;
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }

  signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort(this.#aborted);
    return this.#controller.signal;
  }

  /** Aborts the request: nobody waits for the answer any more. */
  abort(reason: Error): void {
    this.#aborted = reason;
    this.#controller?.abort(reason);
    this.#body?.destroy(reason);
    this.#waiting?.reject(reason);
  }

  /**
   * Resolves with the reply, at the latest when the request is aborted. @throws the error of sending it, or the abort
   */
  async finish({ finished }: GuestReply): Promise<void> {
    const over = Promise.withResolvers<never>();
    this.signal().addEventListener("abort", () => over.reject(this.#aborted), { once: true });
    await Promise.race([finished, this.#aborted ? Promise.reject(this.#aborted) : over.promise]);
  }

  #acknowledge(): void {
    if (this.#taken > 0) this.#send({ t: "taken", id: this.id, bytes: this.#taken });
    this.#taken = 0;
  }

  head(status: number, headers: Record<string, string | string[]>): void {
    this.#send({ t: "head", id: this.id, status, headers });
  }

  data(bytes: Uint8Array): void {
    this.#credit -= bytes.length;
    this.#send({ t: "data", id: this.id, b: 1 }, bytes);
  }

  async room(): Promise<void> {
    if (this.#aborted) throw this.#aborted;
    if (this.#credit > 0) return;
    this.#waiting ??= Promise.withResolvers();
    await this.#waiting.promise;
  }

  whole(status: number, headers: Record<string, string | string[]>, content: string | Uint8Array): void {
    const header = { t: "reply", id: this.id, ok: true, status, headers };
    this.#send(typeof content === "string" ? header : { ...header, b: 1 }, content);
  }

  end(): void {
    this.#send({ t: "reply", id: this.id, ok: true });
  }

  /** Returns the request for the handler: JSON and text are read, anything else stays a stream. */
  async request(): Promise<RouteRequest> {
    const { url, method, params, claims } = this.#header;
    const headers = this.#header["headers"] as Record<string, string>;
    return {
      id: this.requestId,
      method: String(method),
      url: String(url),
      headers,
      params,
      query: queryOf(String(url)),
      body: await this.#content(headers["content-type"] ?? ""),
      claims: (claims ?? null) as RouteRequest["claims"],
    };
  }

  async #content(type: string): Promise<unknown> {
    if (this.#body === undefined) return undefined;
    const [essence = ""] = type.toLowerCase().split(";");
    const isJson = essence.trim() === "application/json";
    if (!isJson && essence.trim() !== "text/plain") return this.#body;
    const chunks: Buffer[] = [];
    for await (const chunk of this.#body as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString("utf8");
    if (!isJson) return text;
    try {
      return parseJson(text);
    } catch (error) {
      throw new RuntimeFault("bad_json", `The body is not valid JSON: ${(error as Error).message}`);
    }
  }
}

function queryOf(url: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null) as never;
  const mark = url.indexOf("?");
  if (mark === -1) return query;
  for (const [name, value] of new URLSearchParams(url.slice(mark + 1))) {
    const before = query[name];
    query[name] = before === undefined ? value : [before, value].flat();
  }
  return query;
}

/** Converts an error with a client status, in Fastify's manner: the request is rejected with the error's message. */
function faultOfRoute(error: unknown): RuntimeFault {
  const { statusCode } = (error ?? {}) as { statusCode?: unknown };
  if (!(error instanceof RuntimeFault) && typeof statusCode === "number" && statusCode >= 400 && statusCode < 500)
    return new RuntimeFault("bad_request", (error as Error).message);
  return faultOfAction(error);
}

/** Runs the handler of a route, and sends whatever it produces. */
export async function runRoute(
  route: GuestRoute,
  definition: RouteDefinition<Record<string, unknown>> | undefined,
  context: PluginContext,
  send: Send,
): Promise<void> {
  try {
    if (definition === undefined) throw new RuntimeFault("not_found", "There is no such route.");
    const reply = new GuestReply(route);
    const result: unknown = await definition.handler((await route.request()) as never, reply as never, context);
    if (result !== undefined && result !== reply && !reply.sent) reply.send(result);
    if (!reply.complete) await route.finish(reply);
  } catch (error) {
    const fault = faultOfRoute(error);
    const stack = stackOf(fault)?.slice(0, 8192);
    send({ t: "reply", id: route.id, ok: false, code: fault.code, message: fault.message.slice(0, 8192), stack });
  }
}
