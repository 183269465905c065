import { type Logger, type LoggerOptions, pino } from "pino";
import { readableLog } from "./log-lines.ts";
import { LogStream } from "./log-stream.ts";

export type { Logger };

/** Fields that carry secrets, wherever they stand in a log record. */
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
  /** The program's name, in every record. */
  name: string;
  /** `trace` to `fatal`, or `silent`. Default `info`. */
  level?: string;
}

let standardError: LogStream | undefined;

const WARNING = 40;
const lostLines = (lines: number): string =>
  `${JSON.stringify({ level: WARNING, time: new Date().toISOString(), name: "log", msg: `${lines} log lines were lost`, lines })}\n`;

/** Returns a logger on stderr without secret fields: JSON, or lines for people where stderr is a terminal. */
export function createLogger({ name, level = "info" }: LoggingOptions): Logger {
  const options: LoggerOptions = {
    name,
    level,
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: "[redacted]" },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    base: { name },
  };
  const out = (standardError ??= new LogStream(process.stderr, lostLines));
  if (!process.stderr.isTTY) return pino(options, out);
  return pino(options, { write: (line) => out.write(readableLog(line)) });
}
