import type { ServerResponse } from "node:http";

export const EVENT_STREAM_TYPE = "text/event-stream; charset=utf-8";

const COMMENT = Buffer.from(":\n\n");

/** A stream of server-sent events. It buffers one event more than the connection takes, and no more. */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #stuckMs: number;
  /** Time since which the connection takes no more, by `performance.now()`. */
  #stuckSince: number | undefined;
  /** Whether an event could not be sent. */
  #isBehind = false;

  /** @param stuckMs for which a client may take nothing of what it was sent */
  constructor(response: ServerResponse, stuckMs: number) {
    this.#response = response;
    this.#stuckMs = stuckMs;
    // A client that leaves while something is sent is no failure.
    response.on("error", () => {});
  }

  /** Begins the answer. @param onDrained hears that a client that was behind can be told everything anew */
  begin(headers: Record<string, string>, onDrained: () => void): void {
    const response = this.#response;
    // The end of the connection is that of the stream: no frame is wrapped once more, for each of ten thousand.
    response.removeHeader("transfer-encoding");
    response.writeHead(200, {
      ...headers,
      "content-type": EVENT_STREAM_TYPE,
      // For proxies that would gather an answer before they pass it on.
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
