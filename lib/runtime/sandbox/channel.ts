import type { Socket } from "node:net";
import { encodeFrame, type Frame, FrameError, FrameReader, frameWriter } from "../guest/frames.ts";

/** Most bytes waiting for a process that does not read its channel. */
const MAX_BACKLOG_BYTES = 64 * 1024 * 1024;
/** Bytes waiting for the process beyond which no more of a request's body is sent. */
const CONGESTED_BYTES = 4 * 1024 * 1024;
/** Bytes waiting for the process beyond which it gets no more calls and events, which could otherwise end it. */
const CROWDED_BYTES = MAX_BACKLOG_BYTES / 2;
/** Limit on forged, unknown and malformed frames, and log records, per second; a process that sends more is ended. */
const MAX_NOISE_PER_SECOND = 5000;
/** Characters of one useless frame that count as one more. */
const NOISE_CHARACTERS = 16 * 1024;

export type Header = Frame["header"];

export interface ChannelHandler {
  frame(frame: Frame): void;
  /** Whether more than one call is open. */
  isBusy(): boolean;
  /** Called when a frame was dropped: `unknown_id`, `late`, `malformed` or `unread`. */
  dropped(reason: string): void;
  /** Called when the process broke the protocol and must be ended. `message` says how. */
  violated(message: string): void;
}

/** Runtime's end of a sandbox's channel. What comes out of it is hostile until checked. */
export class Channel {
  readonly #socket: Socket;
  readonly #handler: ChannelHandler;
  readonly #reader = new FrameReader();
  readonly #write: (frame: Buffer) => void;
  #noise = 0;
  #noiseSecond = 0;

  constructor(socket: Socket, handler: ChannelHandler) {
    this.#socket = socket;
    this.#write = frameWriter(socket, () => handler.isBusy());
    this.#handler = handler;
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("error", () => undefined);
  }

  /** Resolves when the process has read what it was sent; undefined if it has. */
  get congestion(): Promise<unknown> | undefined {
    if (this.#socket.writableLength < CONGESTED_BYTES) return undefined;
    return new Promise((resolve) => {
      this.#socket.once("drain", resolve);
      this.#socket.once("close", resolve);
    });
  }

  /** True while so much waits for the process that it is given nothing more to do. */
  get isCrowded(): boolean {
    return this.#socket.writableLength >= CROWDED_BYTES;
  }

  /** Ends a process that breaks the protocol. */
  violated(message: string): void {
    this.#handler.violated(message);
  }

  /** Sends a frame. @throws RangeError for a header that is too large */
  send(header: Header, body?: string | Uint8Array): void {
    if (!this.#socket.writable) return;
    this.#write(encodeFrame(header, body));
    if (this.#socket.writableLength > MAX_BACKLOG_BYTES) {
      this.#handler.violated("The plugin's process does not read its channel.");
    }
  }

  /** Counts a useless frame. */
  drop(reason: string): void {
    this.#handler.dropped(reason);
    this.isNoisy();
  }

  /** Counts a frame that was dropped without a fault of the process. */
  dropBlameless(reason: "late" | "unread"): void {
    this.#handler.dropped(reason);
  }

  /**
   * Counts noise; a large frame counts as several.
   * @returns true when there was too much of it in this second: the process is ended
   */
  isNoisy(characters = 0): boolean {
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.#noiseSecond) {
      this.#noiseSecond = second;
      this.#noise = 0;
    }
    this.#noise += 1 + Math.floor(characters / NOISE_CHARACTERS);
    if (this.#noise <= MAX_NOISE_PER_SECOND) return false;
    const most = `${MAX_NOISE_PER_SECOND} needless frames in a second`;
    this.#handler.violated(`The plugin's process sent more than ${most}.`);
    return true;
  }

  /** Resolves when the other end is closed, at the latest after `timeoutMs` milliseconds, when it is cut. */
  async ended(timeoutMs: number): Promise<void> {
    if (this.#socket.closed) return;
    const timer = setTimeout(() => this.#socket.destroy(), timeoutMs);
    await new Promise((resolve) => this.#socket.once("close", resolve));
    clearTimeout(timer);
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#reader.push(chunk)) this.#handler.frame(frame);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#handler.dropped("malformed");
      this.#handler.violated(`The plugin's process broke its channel: ${error.message}.`);
    }
  }
}
