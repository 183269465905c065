import type { ServerResponse } from "node:http";

export const EVENT_STREAM_TYPE = "text/event-stream; charset=utf-8";

const COMMENT = Buffer.from(":\n\n");

/** Stream of server-sent events. Buffers at most one event beyond what the connection takes. */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #stuckMs: number;
  /** Time since which the connection takes no more, by `performance.now()`. */
  #stuckSince: number | undefined;
  /** Whether an event could not be sent. */
  #isBehind = false;

  /** @param stuckMs longest time for which a client may read nothing */
  constructor(response: ServerResponse, stuckMs: number) {
    this.#response = response;
    this.#stuckMs = stuckMs;
    // A client that leaves during a write is not a failure.
    response.on("error", () => {});
  }

  /** Starts the answer. @param onDrained called when a client that was behind can be sent everything again */
  begin(headers: Record<string, string>, onDrained: () => void): void {
    const response = this.#response;
    // The stream ends with its connection, which saves wrapping each frame for ten thousand streams.
    response.removeHeader("transfer-encoding");
    response.writeHead(200, {
      ...headers,
      "content-type": EVENT_STREAM_TYPE,
      // Keeps proxies from buffering the answer.
      "x-accel-buffering": "no",
    });
    response.flushHeaders();
    response.on("drain", () => {
      this.#stuckSince = undefined;
      if (!this.#isBehind) return;
      this.#isBehind = false;
      onDrained();
    });
  }

  /** Sends an event, or remembers that there was one. */
  send(event: Buffer): void {
    if (this.#response.writableNeedDrain) this.#isBehind = true;
    else this.#write(event);
  }

  /** Sends a comment, or ends a stream whose client reads nothing. */
  beat(): void {
    if (this.#stuckSince !== undefined && performance.now() - this.#stuckSince > this.#stuckMs)
      this.#response.destroy();
    else if (!this.#response.writableNeedDrain) this.#write(COMMENT);
  }

  end(): void {
    this.#response.end();
  }

  #write(bytes: Buffer): void {
    if (this.#response.writableEnded) return;
    if (!this.#response.write(bytes)) this.#stuckSince ??= performance.now();
  }
}

/** Returns an event as a stream carries it. @param data one line */
export const eventBytes = ({ id, event, data }: { id?: string; event: string; data: string }): Buffer =>
  Buffer.from(`${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata:${data && ` ${data}`}\n\n`);
