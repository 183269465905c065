import type { ServerResponse } from "node:http";

const COMMENT = Buffer.from(":\n\n");

/** A stream of server-sent events to one agent. It buffers one frame more than the connection takes, and no more. */
export class HintStream {
  readonly #response: ServerResponse;
  readonly #stuckMs: number;
  /** When the connection last took no more, by `performance.now()`. */
  #stuckSince: number | undefined;
  /** Whether a hint could not be sent. */
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
      "content-type": "text/event-stream; charset=utf-8",
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

  /** Sends a hint, or remembers that there was one. */
  send(frame: Buffer): void {
    if (this.#response.writableNeedDrain) this.#isBehind = true;
    else this.#write(frame);
  }

  /** Shows that the stream is alive, and ends one whose client takes nothing. */
  beat(): void {
    if (this.#stuckSince !== undefined && performance.now() - this.#stuckSince > this.#stuckMs)
      this.#response.destroy();
    else if (!this.#response.writableNeedDrain) this.#write(COMMENT);
  }

  end(): void {
    this.#response.end();
  }

  #write(bytes: Buffer): void {
    if (!this.#response.write(bytes)) this.#stuckSince ??= performance.now();
  }
}
