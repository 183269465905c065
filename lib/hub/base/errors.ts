import type { Code } from "../../contract/codes.ts";
import { SealiftError } from "../../contract/errors.ts";

/** Facts of an error answer beyond its three standard fields. */
export interface HubErrorFacts {
  /** Further fields of the body. */
  fields?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** Error that is sent to the client as it is: status, stable code and message. */
export class HubError extends Error {
  readonly statusCode: number;
  readonly code: Code;
  readonly fields: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(statusCode: number, code: Code, message: string, { fields, headers, cause }: HubErrorFacts = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "HubError";
    this.statusCode = statusCode;
    this.code = code;
    this.fields = fields ?? {};
    this.headers = headers ?? {};
  }
}

export const keyMissing = (what = "an API key in X-API-Key") =>
  new HubError(401, "key_missing", `This route needs ${what}.`);

/** Returns one answer for unknown, revoked and expired keys: strangers must not learn which it is. */
export const keyRejected = (what = "API key") =>
  new HubError(401, "key_rejected", `The ${what} is unknown, revoked or has expired.`);

/** Returns the error for the key of a removed host. The caller holds the key, so the reason may be named. */
export const hostRemoved = (host: string) =>
  new HubError(401, "host_removed", `The host ${host} was removed: its key has been revoked.`);

/** Returns the error of a name that another host of the project has. */
export const hostTaken = (host: string) =>
  new HubError(409, "host_taken", `Another host of the project is called ${host}.`);

export const forbidden = (message: string) => new HubError(403, "forbidden", message);
export const notFound = (message: string) => new HubError(404, "not_found", message);
export const badRequest = (message: string) => new HubError(400, "bad_request", message);
export const unprocessable = (message: string) => new HubError(422, "unprocessable", message);
/**
 * Returns the answer to `latest` for a host that may have no version.
 *
 * @param target with its gate as JSON
 * @param fields that a host is told without a version, too
 */
export const noVersion = (target: { gate: string | null } | undefined, fields?: Record<string, unknown>) =>
  new HubError(
    404,
    "no_version",
    target === undefined || target.gate === null
      ? "No version has been published yet."
      : "No version is open to this host: what is published is held, or rolled out to other hosts first.",
    { ...(fields !== undefined && { fields }) },
  );
/** Returns the refusal of a publication that needs somebody else's approval. */
export const approvalRequired = ({ kind, name }: { kind: string; name: string }) =>
  new HubError(
    403,
    "approval_required",
    `The ${kind} ${name} requires approval of new versions: publish with --stage, and another person approves.`,
  );
export const tooLarge = (message: string) => new HubError(413, "too_large", message);
export const conflict = (message: string) => new HubError(409, "conflict", message);

/** Runs a check of a document in a request. @throws HubError 422 with the check's own code and message */
export function checked<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof SealiftError) throw new HubError(422, error.code, error.message, { cause: error });
    throw error;
  }
}
