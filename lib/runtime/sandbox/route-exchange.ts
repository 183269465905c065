import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { RuntimeCode } from "../../contract/surfaces/runtime.ts";
import type { CallFacts } from "../base/instance.ts";
import { RuntimeFault } from "../guest/fault.ts";
import type { Frame } from "../guest/frames.ts";
import { ROUTE_CHUNK_BYTES, ROUTE_WINDOW_BYTES } from "../guest/route-reply.ts";
import type { Channel } from "./channel.ts";
import type { CallLimits, ExchangeControl, OpenExchange } from "./open-call.ts";
import type { OpenCalls } from "./open-calls.ts";
import { headersForPlugin, headersOfPlugin, statusOfPlugin } from "./route-headers.ts";

/** Longest time for which a client may neither send nor read, in milliseconds. */
const CLIENT_PATIENCE_MS = 60_000;
/** Bytes that a plugin may send beyond its allowance: one piece, and what crossed on the way. */
const MAX_EXCESS_BYTES = 2 * ROUTE_CHUNK_BYTES;

/** Codes of faults whose message is for the client: about the request itself, in the runtime's words. */
const FOR_CLIENTS: ReadonlySet<string> = new Set<RuntimeCode>([
  ...(["bad_request", "bad_json", "not_found", "payload_too_large", "rate_limited"] as const),
  ...(["timed_out", "plugin_crashed", "memory_exceeded", "disk_exceeded", "channel_violated", "not_loaded"] as const),
]);

const NOTHING = Buffer.alloc(0);

export interface ExchangeOptions {
  /** Key of the route for the plugin. */
  route: string;
  isProtected: boolean;
  /** `/plugin/<name>`. */
  prefix: string;
  bodyLimit: number;
}

/**
 * Request to a route of a sandboxed plugin, on the runtime's side: the body goes to the plugin as fast as it reads, the
 * answer to the client as fast as that reads. At most a window of each is in memory.
 */
export class RouteExchange implements OpenExchange {
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #options: ExchangeOptions;
  #channel: Channel | undefined;
  #control: ExchangeControl | undefined;
  #answer: Readable | undefined;
  /** Bytes of the answer that the plugin sent and the client has not been given. */
  #unpassed = 0;
  /** Bytes of the request that the plugin has not read. */
  #untaken = 0;
  #received = 0;
  #bodyEnded = true;
  #over = false;
  #clientTimer: NodeJS.Timeout | undefined;
  #isPluginsTurn = true;

  constructor(request: FastifyRequest, reply: FastifyReply, options: ExchangeOptions) {
    this.#request = request;
    this.#reply = reply;
    this.#options = options;
  }

  /** Sends the request to the plugin, and the rest of its body as the plugin reads it. */
  begin(calls: OpenCalls, channel: Channel, facts: CallFacts & CallLimits): void {
    const { id: _id, method, url, headers, params, claims, raw } = this.#request;
    const { route, isProtected, bodyLimit } = this.#options;
    const length = Number(headers["content-length"] ?? 0);
    const hasBody = length > 0 || headers["transfer-encoding"] !== undefined;
    this.#channel = channel;
    try {
      if (length > bodyLimit) throw tooLarge();
      const header = { route, method, url, params, hasBody, headers: headersForPlugin(headers, isProtected) };
      const facing = claims === null ? header : { ...header, claims };
      this.#control = calls.exchange(facing, NOTHING, this, facts);
    } catch (error) {
      return this.reject(error as RuntimeFault);
    }
    this.#reply.raw.once("close", () => this.#clientGone());
    if (!hasBody) return;
    this.#bodyEnded = false;
    raw.on("data", (chunk: Buffer) => this.#forward(chunk));
    raw.once("end", () => this.#endBody());
    this.#takeTurns();
  }

  take(frame: Frame): void {
    if (this.#over) return;
    const { header, bytes = NOTHING } = frame;
    if (header.t === "taken") return this.#taken(header["bytes"]);
    if (header.t === "head") return this.#begun(header);
    if (this.#answer === undefined) return this.#channel?.drop("malformed");
    this.#unpassed += bytes.length;
    if (this.#unpassed > ROUTE_WINDOW_BYTES + MAX_EXCESS_BYTES)
      return this.#channel?.violated("The plugin's process sent more of an answer than it was given leave for.");
    this.#answer.push(bytes);
    this.#takeTurns();
  }

  replied({ header, body, bytes }: Frame): void {
    if (this.#over) return;
    if (this.#answer !== undefined) {
      this.#end();
      this.#answer.push(null);
      const { raw } = this.#reply;
      raw.setTimeout(CLIENT_PATIENCE_MS, () => raw.destroy());
      return;
    }
    try {
      const { status, headers } = header;
      const reply = this.#reply.code(statusOfPlugin(status)).headers(headersOfPlugin(headers, this.#options.prefix));
      this.#end();
      reply.send(bytes ?? body);
    } catch (error) {
      this.reject(error as RuntimeFault);
    }
  }

  /** Ends the exchange with an error, or cuts an answer that has begun. */
  reject(fault: RuntimeFault): void {
    if (this.#over) return;
    this.#control?.giveUp();
    this.#end();
    if (this.#answer === undefined) {
      this.#reply.send(this.#shown(fault));
    } else {
      this.#request.log.warn({ requestId: this.#request.id, code: fault.code }, `an answer was cut: ${fault.message}`);
      this.#answer.destroy(fault);
    }
  }

  /** Returns the fault as the client may see it: failures inside the plugin are for the log. */
  #shown(fault: RuntimeFault): RuntimeFault {
    if (FOR_CLIENTS.has(fault.code)) return fault;
    const { id: requestId, log } = this.#request;
    log.error({ requestId, code: fault.code, err: fault.cause ?? fault }, "a route failed");
    return new RuntimeFault(fault.code, "The plugin's route failed; the runtime's log says why.");
  }

  #begun({ status, headers }: Frame["header"]): void {
    if (this.#answer !== undefined) return this.#channel?.drop("malformed");
    try {
      const reply = this.#reply.code(statusOfPlugin(status)).headers(headersOfPlugin(headers, this.#options.prefix));
      const answer = new Readable({ highWaterMark: ROUTE_WINDOW_BYTES, read: () => this.#pass() });
      this.#answer = answer;
      reply.send(answer);
      this.#takeTurns();
    } catch (error) {
      this.reject(error as RuntimeFault);
    }
  }

  /** Lets the plugin send as much again as the client has read. */
  #pass(): void {
    const waiting = this.#answer?.readableLength ?? 0;
    const passed = this.#unpassed - waiting;
    if (passed > 0 && !this.#over) {
      this.#unpassed = waiting;
      this.#channel?.send({ t: "passed", id: this.#control?.id, bytes: passed });
    }
    this.#takeTurns();
  }

  #forward(chunk: Buffer): void {
    if (this.#over) return;
    const { raw } = this.#request;
    this.#received += chunk.length;
    if (this.#received > this.#options.bodyLimit) return this.reject(tooLarge());
    const { id } = this.#control!;
    for (let at = 0; at < chunk.length; at += ROUTE_CHUNK_BYTES)
      this.#channel?.send({ t: "body", id, b: 1 }, chunk.subarray(at, at + ROUTE_CHUNK_BYTES));
    this.#untaken += chunk.length;
    const congestion = this.#channel?.congestion;
    if (congestion !== undefined) {
      raw.pause();
      void congestion.then(() => this.#resume());
    } else if (this.#untaken >= ROUTE_WINDOW_BYTES) raw.pause();
    this.#takeTurns(true);
  }

  #taken(bytes: unknown): void {
    if (typeof bytes !== "number" || !(bytes > 0)) return this.#channel?.drop("malformed");
    this.#untaken = Math.max(0, this.#untaken - bytes);
    this.#resume();
    this.#takeTurns();
  }

  #resume(): void {
    const { raw } = this.#request;
    if (!this.#over && raw.isPaused() && this.#untaken < ROUTE_WINDOW_BYTES) raw.resume();
  }

  #endBody(): void {
    this.#bodyEnded = true;
    if (this.#over) return;
    this.#channel?.send({ t: "ended", id: this.#control?.id });
    this.#takeTurns();
  }

  /** Resumes the timer of the side that is waited for. @param progress whether the client has just sent something */
  #takeTurns(progress = false): void {
    if (this.#over) return;
    const forBody = !this.#bodyEnded && this.#untaken < ROUTE_WINDOW_BYTES;
    const forReader = this.#answer !== undefined && this.#unpassed >= ROUTE_WINDOW_BYTES;
    const isPluginsTurn = !forBody && !forReader;
    if (isPluginsTurn) clearTimeout(this.#clientTimer);
    else if (progress || this.#isPluginsTurn) {
      clearTimeout(this.#clientTimer);
      this.#clientTimer = setTimeout(() => this.#reply.raw.destroy(), CLIENT_PATIENCE_MS);
    }
    if (isPluginsTurn || this.#isPluginsTurn) this.#control?.pluginsTurn(isPluginsTurn);
    this.#isPluginsTurn = isPluginsTurn;
  }

  #clientGone(): void {
    if (this.#over) return;
    this.#control?.giveUp();
    this.#end();
    this.#answer?.destroy();
  }

  #end(): void {
    this.#over = true;
    clearTimeout(this.#clientTimer);
    if (this.#bodyEnded) return;
    // The rest of the body would be taken for the next request.
    if (!this.#reply.raw.headersSent) this.#reply.header("connection", "close");
    this.#request.raw.resume();
  }
}

const tooLarge = (): RuntimeFault =>
  new RuntimeFault("payload_too_large", "The body is larger than the runtime accepts.");
