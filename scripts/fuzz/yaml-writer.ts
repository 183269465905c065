import type { Random } from "./random.ts";
import type { Json } from "./values.ts";

/**
 * Writes a value as YAML 1.2, each time in a different one of its many ways. Uses no YAML library, so that a parser's
 * mistake is not repeated here.
 */
export function yamlOf(value: Json, random: Random): string {
  const start = random.once(4) ? "--- # a comment\n" : "";
  return `${start}${new Writer(random).document(value)}\n`;
}

const isCollection = (value: Json): value is Json[] | { [key: string]: Json } =>
  typeof value === "object" && value !== null;

/** Tells whether a text needs no quotes: no reader takes it for anything else. */
const isPlain = (text: string): boolean =>
  /^[a-z]+( [a-z]+)*$/.test(text) && !/^(true|false|null|yes|no|on|off|y|n|nan|inf)$/.test(text);
/** Tells whether single quotes can hold a text: on one line, of printable characters. */
const isPrintable = (text: string): boolean => /^[ -~\u00a0-\u2027\u{1f600}]*$/u.test(text);

class Writer {
  readonly #random: Random;
  /** Anchored scalars, by their names. */
  readonly #anchors = new Map<string, string>();

  constructor(random: Random) {
    this.#random = random;
  }

  document(value: Json): string {
    return isCollection(value) ? this.#block(value, 0) : this.#scalar(value);
  }

  /** Returns a collection over several lines, without a line break in front. */
  #block(value: Json[] | { [key: string]: Json }, indent: number): string {
    const space = " ".repeat(indent);
    const entries = Array.isArray(value)
      ? value.map((item) => ["-", item] as const)
      : Object.entries(value).map(([key, item]) => [`${this.#key(key)}:`, item] as const);
    if (entries.length === 0 || this.#random.once(4)) return `${space}${this.#flow(value)}`;
    return entries.map(([lead, item]) => `${space}${lead}${this.#behind(item, indent)}`).join("\n");
  }

  /** Returns a value with what separates it from its key or dash. */
  #behind(value: Json, indent: number): string {
    const step = 1 + this.#random.below(3);
    if (isCollection(value)) return `\n${this.#block(value, indent + step)}`;
    if (typeof value === "string" && this.#random.once(2) && isLiteral(value)) {
      const lines = value.split("\n").map((line) => (line === "" ? "" : " ".repeat(indent + step) + line));
      return ` |-\n${lines.join("\n")}`;
    }
    return ` ${this.#scalar(value)}${this.#random.once(8) ? " # a comment" : ""}`;
  }

  #flow(value: Json): string {
    if (Array.isArray(value)) return `[${value.map((item) => this.#flow(item)).join(", ")}]`;
    if (!isCollection(value)) return this.#scalar(value);
    return `{${Object.entries(value)
      .map(([key, item]) => `${this.#key(key)}: ${this.#flow(item)}`)
      .join(", ")}}`;
  }

  #key = (key: string): string => (isPlain(key) ? key : quoted(key, this.#random));

  #scalar(value: null | boolean | number | string): string {
    const text =
      typeof value === "string" ? this.#text(value) : value === null ? this.#random.pick(["null", "~"]) : String(value);
    const known = [...this.#anchors].find(([, anchored]) => anchored === JSON.stringify(value));
    if (known !== undefined && this.#random.once(2)) return `*${known[0]} `;
    if (known !== undefined || !this.#random.once(6)) return text;
    const name = `a${this.#anchors.size}`;
    this.#anchors.set(name, JSON.stringify(value));
    return `&${name} ${text}`;
  }

  #text = (text: string): string => (isPlain(text) && this.#random.once(2) ? text : quoted(text, this.#random));
}

/** Tells whether a literal block can hold a text as it is. The limits count complex keys even within a text. */
const isLiteral = (text: string): boolean =>
  text !== "" &&
  !/^\s|\n$|\?/.test(text) &&
  text.split("\n").every((line) => isPrintable(line) && !line.startsWith(" "));

const quoted = (text: string, random: Random): string =>
  isPrintable(text) && random.once(2) ? `'${text.replaceAll("'", "''")}'` : JSON.stringify(text);
