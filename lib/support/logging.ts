import { type Logger, type LoggerOptions, pino } from "pino";

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

/** Structured JSON logs on stderr (stdout is data), with secret-bearing fields replaced. */
export function createLogger({ name, level = "info" }: LoggingOptions): Logger {
  const options: LoggerOptions = {
    name,
    level,
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: "[redacted]" },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    base: { name },
  };
  return pino(options, process.stderr);
}
