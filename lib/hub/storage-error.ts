import { SealiftError, usageError } from "../contract/errors.ts";

/** What the system says of a connection that may be there in a moment. */
const AWAY = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
  "ENOTFOUND",
]);
/** PostgreSQL is starting or stopping, or has no place left; class 08 is the connection itself. */
const POSTGRES_AWAY = /^(08...|57P0[123]|53300)$/;
/** A wrong password, user or database. */
const POSTGRES_REFUSED = /^(28...|3D000)$/;

interface Reason {
  name?: string;
  message?: string;
  code?: unknown;
  $metadata?: { httpStatusCode?: number };
}

function isAway({ name = "", message = "", code, $metadata }: Reason): boolean {
  const status = $metadata?.httpStatusCode ?? 0;
  if (AWAY.has(String(code)) || POSTGRES_AWAY.test(String(code))) return true;
  return status >= 500 || status === 429 || name === "TimeoutError" || /timeout exceeded|timed out/.test(message);
}

/** The SDK says by names what happened: `NoSuchBucket`. Several addresses that all failed have no message of their own. */
function whyOf({ name = "Error", message, code }: Reason): string {
  const named = /^(error|AggregateError)$/i.test(name) ? "" : `${name}: `;
  return `${named}${(message || String(code)).replace(/\.$/, "")}`;
}

/** True for an error of reaching PostgreSQL, rather than of what was asked of it. */
export function concernsConnection(error: unknown): boolean {
  const reason = error as Reason;
  return isAway(reason) || POSTGRES_REFUSED.test(String(reason.code));
}

/**
 * A storage that cannot be used when the hub starts. One that is away may be there at the next try, which a service manager makes (exit 75);
 * anything else is for a person to correct (exit 2).
 *
 * @param hint what to check where it is not merely away
 */
export function storageError(what: string, error: unknown, hint: string): SealiftError {
  if (error instanceof SealiftError) return error;
  const reason = error as Reason;
  const why = whyOf(reason);
  if (isAway(reason)) {
    return usageError("connection_failed", `${what} cannot be reached: ${why}.`, {
      cause: error,
      hint: "The hub starts when it is there again: a service manager tries every few seconds.",
    });
  }
  return usageError("usage", `${what} cannot be used: ${why}.`, { cause: error, hint });
}
