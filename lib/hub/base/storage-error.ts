import { SealiftError, usageError } from "../../contract/errors.ts";

/** Why a storage cannot be used now: no answer, no room, read-only, or it refuses the hub. */
export type StorageTrouble = "away" | "full" | "read-only" | "refused";

/** A failure of a storage that has no code of its own by which it could be recognised. */
export class StorageError extends Error {
  readonly trouble: StorageTrouble;

  constructor(trouble: StorageTrouble, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "StorageError";
    this.trouble = trouble;
  }
}

/** Codes of the system for a connection that may be there in a moment. */
const AWAY = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
  "ENOTFOUND",
  // No descriptor is left, of this process or of the machine.
  "EMFILE",
  "ENFILE",
]);
/** PostgreSQL starts, stops, has no place left, or ran into the statement time limit; class 08 is the connection. */
const POSTGRES_AWAY = /^(08...|57P0[1234]|57014|53300|55P03)$/;
/** A wrong password, user or database. */
const POSTGRES_REFUSED = /^(28...|3D000)$/;
/** Messages of the PostgreSQL client that come without a code. */
const CLIENT_AWAY = /timeout exceeded|timed out|read timeout|connection terminated|not queryable|connection error/i;
const FULL = new Set(["ENOSPC", "EDQUOT", "53100"]);
const READ_ONLY = new Set(["EROFS", "25006"]);

/** Primary result codes of SQLite: the lower eight bits of `errcode`. */
const SQLITE: Record<number, StorageTrouble> = { 5: "away", 6: "away", 8: "read-only", 13: "full" };

interface Reason {
  name?: string;
  message?: string;
  code?: unknown;
  errcode?: number;
  $metadata?: { httpStatusCode?: number };
}

/** Finds the trouble of the storage behind a failed call; undefined for other errors. */
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
 * Returns the reason in words. The SDK puts it in the error's name (`NoSuchBucket`); an AggregateError of several
 * addresses has no message, only a code.
 */
function whyOf({ name = "Error", message, code }: Reason): string {
  const named = /^(error|AggregateError)$/i.test(name) ? "" : `${name}: `;
  return `${named}${(message || String(code)).replace(/\.$/, "")}`;
}

/** True for an error of reaching PostgreSQL, rather than of what was asked of it. */
export function concernsConnection(error: unknown): boolean {
  return storageTrouble(error) === "away" || POSTGRES_REFUSED.test(String((error as Reason).code));
}

/**
 * A storage that cannot be used when the hub starts: one that is away may be tried again (exit 75), others not (exit
 * 2).
 *
 * @param hint what to check where it is not merely away
 */
export function storageError(what: string, error: unknown, hint: string): SealiftError {
  if (error instanceof SealiftError) return error;
  const why = whyOf(error as Reason);
  const trouble = storageTrouble(error);
  if (trouble === "away" || trouble === "read-only") {
    return usageError("connection_failed", `${what} cannot be ${trouble === "away" ? "reached" : "written"}: ${why}.`, {
      cause: error,
      hint: "The hub starts when it is there again: a service manager tries every few seconds.",
    });
  }
  return usageError("usage", `${what} cannot be used: ${why}.`, { cause: error, hint });
}
