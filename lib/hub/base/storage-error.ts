import { SealiftError, usageError } from "../../contract/errors.ts";

/** Reason why a storage cannot be used now: no answer, no room, read-only, or access denied. */
export type StorageTrouble = "away" | "full" | "read-only" | "refused";

/** Storage failure that no code of the system identifies. */
export class StorageError extends Error {
  readonly trouble: StorageTrouble;

  constructor(trouble: StorageTrouble, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "StorageError";
    this.trouble = trouble;
  }
}

/** System error codes of a connection that may work again shortly. */
const AWAY = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
  "ENOTFOUND",
  // No file descriptor left, in this process or on the machine.
  "EMFILE",
  "ENFILE",
]);
/**
 * SQLSTATE codes of a PostgreSQL that starts, stops, is out of connections, or hit the statement timeout; class 08 is
 * the connection.
 */
const POSTGRES_AWAY = /^(08...|57P0[1234]|57014|53300|55P03)$/;
/** SQLSTATE codes of a wrong password, user or database. */
const POSTGRES_REFUSED = /^(28...|3D000)$/;
/** Messages of the PostgreSQL client that have no code. */
const CLIENT_AWAY = /timeout exceeded|timed out|read timeout|connection terminated|not queryable|connection error/i;
const FULL = new Set(["ENOSPC", "EDQUOT", "53100"]);
const READ_ONLY = new Set(["EROFS", "25006"]);

/** Primary result codes of SQLite: the low eight bits of `errcode`. */
const SQLITE: Record<number, StorageTrouble> = { 5: "away", 6: "away", 8: "read-only", 13: "full" };

interface Reason {
  name?: string;
  message?: string;
  code?: unknown;
  errcode?: number;
  $metadata?: { httpStatusCode?: number };
}

/** Returns the storage trouble behind an error; undefined for other errors. */
export function storageTrouble(error: unknown): StorageTrouble | undefined {
  if (error instanceof StorageError) return error.trouble;
  const { name = "", message = "", code, errcode, $metadata } = error as Reason;
  if (FULL.has(String(code))) return "full";
  if (READ_ONLY.has(String(code))) return "read-only";
  if (code === "ERR_SQLITE_ERROR") return SQLITE[(errcode ?? 0) & 0xff];
  const status = $metadata?.httpStatusCode ?? 0;
  if (AWAY.has(String(code)) || POSTGRES_AWAY.test(String(code))) return "away";
  if (status >= 500 || status === 429 || name === "TimeoutError" || CLIENT_AWAY.test(message)) return "away";
  return undefined;
}

/**
 * Returns the reason in words. The SDK puts it into the error's name (`NoSuchBucket`); an AggregateError of several
 * addresses has a code and no message.
 */
function whyOf({ name = "Error", message, code }: Reason): string {
  const named = /^(error|AggregateError|StorageError)$/i.test(name) ? "" : `${name}: `;
  return `${named}${(message || String(code)).replace(/\.$/, "")}`;
}

/** True for an error of the connection to PostgreSQL, rather than of a statement. */
export function concernsConnection(error: unknown): boolean {
  return storageTrouble(error) === "away" || POSTGRES_REFUSED.test(String((error as Reason).code));
}

/**
 * Returns the error of a storage that cannot be used when the hub starts: temporary trouble and a full
 * disk can be retried (exit 75), other trouble not (exit 2).
 *
 * @param hint what to check where the trouble is not temporary
 */
export function storageError(what: string, error: unknown, hint: string): SealiftError {
  if (error instanceof SealiftError) return error;
  const why = whyOf(error as Reason);
  const trouble = storageTrouble(error);
  if (trouble === "full") {
    return usageError("disk_full", `${what} has no room left: ${why}.`, {
      cause: error,
      hint: "Make room; nothing that was stored is lost. A service manager starts the hub then.",
    });
  }
  if (trouble === "away" || trouble === "read-only") {
    return usageError("connection_failed", `${what} cannot be ${trouble === "away" ? "reached" : "written"}: ${why}.`, {
      cause: error,
      hint: "The hub starts when it is there again: a service manager tries every few seconds.",
    });
  }
  return usageError("usage", `${what} cannot be used: ${why}.`, { cause: error, hint });
}
