import { INTERRUPTED } from "./blame.ts";
import { type Code, CODES, type ExitCode } from "./codes.ts";

/** Error kind of docs/contract/README.md#errors, or `UsageError` for errors before any request. */
export type ErrorKind = "AuthenticationError" | "ArtifactError" | "DeploymentError" | "PublishError" | "UsageError";

export interface ErrorFacts {
  /** HTTP status of the answer that caused the error. */
  status?: number;
  /** The hub's own `code`, for people; decisions depend on `code`. */
  hubCode?: string;
  /** Next action of the reader, as a sentence. */
  hint?: string;
  cause?: unknown;
  /** All faults of an input that was checked as a whole. */
  faults?: string[];
  /** Milliseconds that the server asked to wait before the next attempt. */
  retryAfterMs?: number;
  /** Cause alone, in the other side's own words if any, for messages that begin with it. */
  reason?: string;
  /** Whether the settings of the host or the caller may be to blame, rather than the version. */
  ofTheHost?: boolean;
  /** Id of the conflicting record: `id` of a 409. */
  existingId?: string;
  /** Digest that the hub holds for the version to be published: `content_sha256` of a 409. */
  storedContentSha256?: string;
  /** Number of a project's settings, which a hub names without a version, too: `settings_version` of a 404. */
  settingsVersion?: number;
}

/**
 * Error as data: `kind` is the contract's, `code` is stable and determines the exit code, `message` says what happened
 * to what. Messages never hold secrets.
 */
export class SealiftError extends Error {
  readonly kind: ErrorKind;
  readonly code: Code;
  readonly status?: number;
  readonly hubCode?: string;
  readonly hint?: string;
  readonly faults?: string[];
  readonly reason?: string;
  readonly ofTheHost?: boolean;
  /** Not part of reports, since it was true for one moment only. */
  readonly retryAfterMs?: number;
  readonly storedContentSha256?: string;
  readonly existingId?: string;
  readonly settingsVersion?: number;

  constructor(kind: ErrorKind, code: Code, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = kind;
    this.kind = kind;
    this.code = code;
    if (facts.status !== undefined) this.status = facts.status;
    if (facts.hubCode !== undefined) this.hubCode = facts.hubCode;
    if (facts.hint !== undefined) this.hint = facts.hint;
    if (facts.faults !== undefined) this.faults = facts.faults;
    if (facts.reason !== undefined) this.reason = facts.reason;
    if (facts.ofTheHost !== undefined) this.ofTheHost = facts.ofTheHost;
    if (facts.retryAfterMs !== undefined) this.retryAfterMs = facts.retryAfterMs;
    if (facts.existingId !== undefined) this.existingId = facts.existingId;
    if (facts.settingsVersion !== undefined) this.settingsVersion = facts.settingsVersion;
    if (facts.storedContentSha256 !== undefined) this.storedContentSha256 = facts.storedContentSha256;
  }

  get exitCode(): ExitCode {
    return CODES[this.code].exit;
  }

  /** Returns the error in the form of NDJSON results and reports. */
  toJSON(): Record<string, unknown> {
    return {
      kind: this.kind,
      code: this.code,
      message: this.message,
      ...(this.hint !== undefined && { hint: this.hint }),
      ...(this.status !== undefined && { status: this.status }),
      ...(this.hubCode !== undefined && { hub_code: this.hubCode }),
      ...(this.existingId !== undefined && { existing_id: this.existingId }),
      ...(this.faults !== undefined && { faults: this.faults }),
    };
  }
}

const maker =
  (kind: ErrorKind) =>
  (code: Code, message: string, facts?: ErrorFacts): SealiftError =>
    new SealiftError(kind, code, message, facts);

export const artifactError = maker("ArtifactError");
export const deploymentError = maker("DeploymentError");
export const publishError = maker("PublishError");
export const usageError = maker("UsageError");

/** True for an abort that the caller's own signal caused. */
export function isAbort(error: unknown): boolean {
  return (
    error instanceof Error && (error.name === "AbortError" || (error as NodeJS.ErrnoException).code === "ABORT_ERR")
  );
}

/** True for a wait that ended with its time limit: Node makes an abort of it, too, whose cause tells. */
const isTimeout = (error: unknown): boolean =>
  error instanceof Error && (error.name === "TimeoutError" || (isAbort(error) && isTimeout(error.cause)));

/** Shortages of the machine, by the system's own codes. */
const EXHAUSTED: Record<string, string> = {
  EMFILE: "this process may open no more files",
  ENFILE: "no more files can be open on this machine",
  ENOMEM: "no memory is left",
  // All that a thread's loader says when it cannot open one of the program's files.
  ERR_INVALID_PACKAGE_CONFIG: "its own files cannot be opened",
};

/**
 * Returns the resource that the machine has run out of. The error of a thread that cannot start has the system's code
 * only in its text.
 */
function lackOf({ code, syscall, message }: NodeJS.ErrnoException): string | undefined {
  if (code === "EAGAIN" && syscall?.startsWith("spawn")) return "no more processes can be started";
  return EXHAUSTED[code ?? ""] ?? EXHAUSTED[/\b(?:EMFILE|ENFILE)\b/.exec(message ?? "")?.[0] ?? ""];
}

/**
 * Converts any thrown value to a `SealiftError`: anything else is a defect (`internal`), an abort, or trouble of the
 * machine.
 */
export function asSealiftError(error: unknown, kind: ErrorKind = "DeploymentError"): SealiftError {
  if (error instanceof SealiftError) return error;
  if (isTimeout(error))
    return new SealiftError(kind, "timed_out", "It took longer than its time limit.", { cause: error });
  if (isAbort(error)) {
    const { cause } = error as Error;
    if (cause instanceof SealiftError) return cause;
    return new SealiftError(kind, "interrupted", INTERRUPTED, { cause: error });
  }
  const errno = error as NodeJS.ErrnoException;
  if (errno?.code === "ENOSPC" || errno?.code === "EDQUOT") {
    return new SealiftError(
      kind,
      "disk_full",
      `No space left on the disk (${errno.path ?? errno.syscall ?? "write"}).`,
      {
        cause: error,
        hint: "Free some space and run the command again.",
      },
    );
  }
  const lack = errno instanceof Error ? lackOf(errno) : undefined;
  if (lack !== undefined) {
    return new SealiftError(kind, "host_exhausted", `The machine lacks something: ${lack} (${errno.message}).`, {
      cause: error,
      hint: "Run the command again when less runs here, or raise the limit (`ulimit -n`, `LimitNOFILE=`).",
    });
  }
  if (errno?.syscall === "uv_cwd")
    return usageError("usage", "The current folder no longer exists.", {
      cause: error,
      hint: "Change to another folder and run the command again.",
    });
  if (errno?.code === "EACCES" || errno?.code === "EPERM" || errno?.code === "EROFS") {
    return new SealiftError(kind, "root_unusable", `Not permitted: ${errno.message}.`, {
      cause: error,
      hint: "Run the command as a user who may do that, or choose another place for what it writes.",
    });
  }
  if (errno?.syscall === "mkdir")
    return usageError("usage", `A folder cannot be made: ${errno.message}.`, {
      cause: error,
      hint: "Choose another place for it.",
    });
  return new SealiftError(kind, "internal", error instanceof Error ? error.message : String(error), { cause: error });
}
