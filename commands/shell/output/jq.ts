import { usageError } from "../../../lib/contract/errors.ts";

/** A jq of WebAssembly. It throws what jq itself would print on stderr. */
interface Jq {
  raw: (input: string, expression: string, flags: string[]) => string | undefined;
}

/** Characters of JSON that are passed to jq at once: each call costs about a millisecond. */
const BATCH_CHARACTERS = 256 * 1024;

/**
 * Records through a jq expression, as `jq --raw-output --compact-output` would print them. They are evaluated in the
 * order in which they came, in batches, as soon as the program has a moment; `close` waits for the last ones.
 */
export class JqWriter {
  readonly #jq: Jq;
  readonly #expression: string;
  readonly #write: (text: string) => void;
  #held: string[] = [];
  #characters = 0;
  #turn: NodeJS.Immediate | undefined;

  private constructor(jq: Jq, expression: string, write: (text: string) => void) {
    this.#jq = jq;
    this.#expression = expression;
    this.#write = write;
  }

  /** Loads jq. @param write takes whole lines @throws UsageError `usage` for an invalid expression */
  static async open(expression: string, write: (text: string) => void): Promise<JqWriter> {
    // @ts-expect-error -- it has no types
    const { default: loading } = (await import("jq-web")) as { default: Promise<Jq> };
    const writer = new JqWriter(await loading, expression, write);
    writer.#evaluate("");
    return writer;
  }

  /** @param line one value as JSON @throws UsageError `usage` when the expression fails on an earlier one */
  add(line: string): void {
    this.#held.push(line);
    this.#characters += line.length;
    if (this.#characters >= BATCH_CHARACTERS) this.#flush();
    // A reader of a command that does not end sees each record at once.
    else this.#turn ??= setImmediate(() => this.#flushLater());
  }

  /** Writes what is held. @throws UsageError `usage` when the expression fails on it */
  close(): void {
    clearImmediate(this.#turn);
    this.#turn = undefined;
    this.#flush();
  }

  /** A fault is told by the next call of `add` or `close`, which has somebody to tell it to. */
  #flushLater(): void {
    this.#turn = undefined;
    const held = this.#held;
    try {
      this.#flush();
    } catch {
      this.#held = held;
    }
  }

  #flush(): void {
    if (this.#held.length === 0) return;
    const input = this.#held.join("\n");
    this.#held = [];
    this.#characters = 0;
    const output = this.#evaluate(input);
    if (output !== "") this.#write(output.endsWith("\n") ? output : `${output}\n`);
  }

  #evaluate(input: string): string {
    try {
      return this.#jq.raw(input, this.#expression, ["-r", "-c"]) ?? "";
    } catch (error) {
      const told = /^jq: error(?: \(at [^)]*\))?:? *(.*)/m.exec((error as Error).message)?.[1];
      throw usageError("usage", `--jq: ${told ?? (error as Error).message}.`, {
        cause: error,
        hint: "The language is that of jq: https://jqlang.org/manual/",
      });
    }
  }
}
