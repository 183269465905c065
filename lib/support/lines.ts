import { StringDecoder } from "node:string_decoder";

/** Splits a program's output into lines, and keeps the first characters of each. */
export class LineCutter {
  readonly #decoder = new StringDecoder("utf8");
  readonly #maxCharacters: number;
  readonly #mark: string;
  #line = "";
  #isCut = false;
  #open = false;

  /**
   * @param maxCharacters kept of a line; the rest is dropped as it arrives
   * @param mark appended to a shortened line
   */
  constructor(maxCharacters: number, mark = "") {
    this.#maxCharacters = maxCharacters;
    this.#mark = mark;
  }

  /** Returns the lines that end in a chunk. */
  take(chunk: Buffer): string[] {
    return this.#cut(this.#decoder.write(chunk));
  }

  /** Returns the last line, if the program has not ended it. */
  end(): string[] {
    const ended = this.#cut(this.#decoder.end());
    if (this.#open) ended.push(this.#whole());
    this.#open = false;
    return ended;
  }

  #cut(text: string): string[] {
    const lines: string[] = [];
    for (let at = 0; at < text.length;) {
      const newline = text.indexOf("\n", at);
      const end = newline === -1 ? text.length : newline;
      const room = this.#maxCharacters - this.#line.length;
      if (room > 0) this.#line += text.slice(at, Math.min(end, at + room));
      if (end - at > room) this.#isCut = true;
      this.#open = newline === -1;
      if (!this.#open) lines.push(this.#whole().replace(/\r$/, ""));
      at = end + 1;
    }
    return lines;
  }

  #whole(): string {
    const line = this.#isCut ? this.#line + this.#mark : this.#line;
    this.#line = "";
    this.#isCut = false;
    return line;
  }
}

const NEWLINE = 10;

/**
 * Passes bytes on as long as no line is longer than `maxLineBytes`, so that a reader of NDJSON holds at most one line.
 *
 * @throws RangeError
 */
export const boundLines = (maxLineBytes: number) =>
  async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
    let lineBytes = 0;
    for await (const chunk of chunks) {
      const first = chunk.indexOf(NEWLINE);
      lineBytes += first === -1 ? chunk.length : first;
      if (lineBytes > maxLineBytes) throw new RangeError(`a line has more than ${maxLineBytes} bytes`);
      if (first !== -1) lineBytes = chunk.length - chunk.lastIndexOf(NEWLINE) - 1;
      yield chunk;
    }
  };
