import type { Writable } from "node:stream";

/** Bytes that may wait for a reader that does not read; lines beyond are lost. */
const MAX_BACKLOG_BYTES = 4 * 1024 * 1024;

/**
 * A log's way out that never fails or blocks: lines that a full disk, a closed terminal or a stalled reader does not
 * take are lost, and counted in the next line that goes through.
 */
export class LogStream {
  readonly #stream: Writable;
  /** Returns the record that tells how many lines were lost. */
  readonly #describe: (lines: number) => string;
  #lost = 0;

  constructor(stream: Writable, describe: (lines: number) => string) {
    this.#stream = stream;
    this.#describe = describe;
    // Each write tells its own failure below; unheard, this event would end the process.
    stream.on("error", () => undefined);
  }

  write(line: string): void {
    if (this.#stream.writableLength > MAX_BACKLOG_BYTES) {
      this.#lost++;
      return;
    }
    // A full disk may have taken the beginning of a line: the next one begins on a line of its own.
    this.#try(this.#lost === 0 ? line : `\n${line}`, 1);
    if (this.#lost === 0) return;
    const lost = this.#lost;
    this.#lost = 0;
    this.#try(this.#describe(lost), lost);
  }

  /** @param lines what is lost when it fails */
  #try(text: string, lines: number): void {
    this.#stream.write(text, (error) => {
      if (error) this.#lost += lines;
    });
  }
}
