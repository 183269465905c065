import type { Writable } from "node:stream";
import { type Logger, type LoggerOptions, pino } from "pino";
import { clock, offset } from "./local-time.ts";
import { printable, printableLines } from "./printable.ts";

export type { Logger };

/** Fields with secrets, wherever they are in a log record. */
const SECRET_FIELDS = [
  "key",
  "dek",
  "secret",
  "password",
  "token",
  "access_token",
  "xdevkey",
  "deployment_credential",
  "authorization",
  "headers.authorization",
  'headers["x-api-key"]',
  'headers["x-plugin-key"]',
  "headers.cookie",
];

export interface LoggingOptions {
  /** Name of the program, in every record. */
  name: string;
  /** `trace` to `fatal`, or `silent`. Default `info`. */
  level?: string;
  /** Changes a line before it is written. */
  rewrite?: (line: string) => string;
}

/** Names of pino's levels, padded to one width. */
const LEVELS: Readonly<Record<number, string>> = {
  10: "trace",
  20: "debug",
  30: "info ",
  40: "warn ",
  50: "error",
  60: "fatal",
};

/**
 * Formats a log record for people on a terminal: time, level and message, then the other fields as `key=value`, and the
 * stack of an error below.
 *
 * @param line one JSON record; anything else is returned as it is, without terminal controls
 */
export function readableLog(line: string): string {
  let record: Record<string, unknown>;
  try {
    record = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return printableLines(line);
  }
  const { level, time, msg = "", name: _name, err, ...fields } = record;
  const at = Date.parse(String(time)) || 0;
  const { message, stack } = (err ?? {}) as { message?: string; stack?: string };
  const facts = Object.entries({ ...fields, ...(err !== undefined && stack === undefined && { err: message ?? err }) });
  const parts = [
    `${clock(at)} ${offset(at)}`,
    LEVELS[Number(level)] ?? "     ",
    String(msg),
    ...facts.map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`),
  ];
  const head = printable(parts.join(" ")).trimEnd();
  return `${head}\n${stack === undefined ? "" : `${printableLines(stack.replace(/^/gm, "  "))}\n`}`;
}

/** Most bytes waiting for a stalled reader; further lines are lost. */
const MAX_BACKLOG_BYTES = 4 * 1024 * 1024;

/**
 * Output of a log that never fails or blocks: lines that a full disk, a closed terminal or a stalled reader does not
 * take are lost, and counted in the next line that is written.
 */
export class LogStream {
  readonly #stream: Writable;
  /** Returns the record about lost lines. */
  readonly #describe: (lines: number) => string;
  #lost = 0;

  constructor(stream: Writable, describe: (lines: number) => string) {
    this.#stream = stream;
    this.#describe = describe;
    // Each write reports its own failure below; unhandled, this event would end the process.
    stream.on("error", () => undefined);
  }

  write(line: string): void {
    if (this.#stream.writableLength > MAX_BACKLOG_BYTES) {
      this.#lost++;
      return;
    }
    // A full disk may have cut a line: the next one starts on a new line.
    this.#try(this.#lost === 0 ? line : `\n${line}`, 1);
    if (this.#lost === 0) return;
    const lost = this.#lost;
    this.#lost = 0;
    this.#try(this.#describe(lost), lost);
  }

  /** @param lines number of lines lost if it fails */
  #try(text: string, lines: number): void {
    this.#stream.write(text, (error) => {
      if (error) this.#lost += lines;
    });
  }
}

let standardError: LogStream | undefined;

const WARNING = 40;
const lostLines = (lines: number): string =>
  `${JSON.stringify({ level: WARNING, time: new Date().toISOString(), name: "log", msg: `${lines} log lines were lost`, lines })}\n`;

/** Creates a logger on stderr without secret fields: JSON, or lines for people where stderr is a terminal. */
export function createLogger({ name, level = "info", rewrite }: LoggingOptions): Logger {
  const options: LoggerOptions = {
    name,
    level,
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: "[redacted]" },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    base: { name },
    ...(rewrite && { hooks: { streamWrite: rewrite } }),
  };
  const out = (standardError ??= new LogStream(process.stderr, lostLines));
  if (!process.stderr.isTTY) return pino(options, out);
  return pino(options, { write: (line) => out.write(readableLog(line)) });
}
