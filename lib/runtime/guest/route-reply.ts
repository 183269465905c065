import { Readable } from "node:stream";
import type { RouteReply } from "../../sdk/routes.ts";
import { RuntimeFault } from "./fault.ts";

/** Most bytes of a streamed body in flight, in each direction. */
export const ROUTE_WINDOW_BYTES = 256 * 1024;
/** Largest piece of a body in one frame, in bytes. */
export const ROUTE_CHUNK_BYTES = 64 * 1024;

/** Channel of one request: frames to the runtime. */
export interface RouteWire {
  /** Sends the head of an answer. */
  head(status: number, headers: Record<string, string | string[]>): void;
  data(bytes: Uint8Array): void;
  /** Resolves when there is room for another piece. @throws when the request is over */
  room(): Promise<void>;
  /** Sends a whole answer: text as text, which the runtime writes together with the head. */
  whole(status: number, headers: Record<string, string | string[]>, content: string | Uint8Array): void;
  /** Ends a streamed answer. */
  end(): void;
}

type Chunk = string | Uint8Array;

const isStream = (payload: unknown): payload is AsyncIterable<Chunk> =>
  typeof payload === "object" && payload !== null && Symbol.asyncIterator in payload;

/** Reply of a sandboxed plugin's route: the part of Fastify's that makes sense without a socket. */
export class GuestReply implements RouteReply {
  statusCode = 200;
  sent = false;
  /** True when the whole answer has left. */
  complete = false;
  /** Resolves when the whole answer has left. */
  readonly finished: Promise<void>;
  readonly #wire: RouteWire;
  readonly #headers = new Map<string, string | string[]>();
  readonly #done = Promise.withResolvers<void>();

  constructor(wire: RouteWire) {
    this.#wire = wire;
    this.finished = this.#done.promise;
    // A failure reaches the caller that awaits this promise. There is none when the handler itself has failed.
    this.finished.catch(() => undefined);
  }

  code(status: number): this {
    this.statusCode = status;
    return this;
  }

  status(status: number): this {
    return this.code(status);
  }

  header(name: string, value: string | number | string[]): this {
    this.#headers.set(name.toLowerCase(), typeof value === "object" ? value.map(String) : String(value));
    return this;
  }

  headers(values: Record<string, string | number | string[]>): this {
    for (const [name, value] of Object.entries(values)) this.header(name, value);
    return this;
  }

  getHeader(name: string): string | string[] | undefined {
    return this.#headers.get(name.toLowerCase());
  }

  type(contentType: string): this {
    return this.header("content-type", contentType);
  }

  redirect(url: string, status = 302): this {
    return this.code(status).header("location", url).send("");
  }

  send(payload?: unknown): this {
    if (this.sent) throw new Error("The reply was sent already.");
    this.sent = true;
    if (isStream(payload)) this.#stream(payload).then(this.#done.resolve, this.#done.reject);
    else {
      try {
        // The payload decides the content type unless the handler did.
        const content = this.#contentOf(payload);
        this.#wire.whole(this.statusCode, this.#fields, content);
        this.complete = true;
      } catch (error) {
        this.#done.reject(error);
      }
    }
    return this;
  }

  get #fields(): Record<string, string | string[]> {
    return Object.fromEntries(this.#headers);
  }

  #contentOf(payload: unknown): string | Uint8Array {
    if (payload === undefined || payload === null) return "";
    if (payload instanceof Error) throw payload;
    if (payload instanceof Uint8Array) {
      this.#typed("application/octet-stream");
      return payload;
    }
    if (typeof payload === "string") {
      this.#typed("text/plain; charset=utf-8");
      return payload;
    }
    const text = JSON.stringify(payload) as string | undefined;
    if (text === undefined) throw new RuntimeFault("result_not_serialisable", `The reply is a ${typeof payload}.`);
    this.#typed("application/json; charset=utf-8");
    return text;
  }

  #typed(contentType: string): void {
    if (!this.#headers.has("content-type")) this.type(contentType);
  }

  async #stream(payload: AsyncIterable<Chunk>): Promise<void> {
    this.#typed("application/octet-stream");
    this.#wire.head(this.statusCode, this.#fields);
    try {
      for await (const chunk of payload) {
        const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
        for (let at = 0; at < bytes.length; at += ROUTE_CHUNK_BYTES) {
          await this.#wire.room();
          this.#wire.data(bytes.subarray(at, at + ROUTE_CHUNK_BYTES));
        }
      }
      this.#wire.end();
    } finally {
      if (payload instanceof Readable) payload.destroy();
    }
  }
}
