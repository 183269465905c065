import type { Code } from "../contract/codes.ts";
import type { ErrorKind } from "../contract/errors.ts";

/** The operations of a client on a hub, as messages call them and as the contract's table of error kinds rules it. */
export type Operation =
  | "auth"
  | "latest"
  | "location"
  | "download"
  | "authorize"
  | "report"
  | "publish"
  | "keys"
  | "fleet"
  | "detail"
  | "install"
  | "deploymentReport"
  | "marketplace"
  | "health"
  | "runtime";

interface CodeOfStatus {
  code: Code;
  hint?: string;
  /** Instead of "the hub answered". */
  note?: string;
}

/** The server that answers an operation, and the option that names it. */
export interface Server {
  name: "hub" | "runtime";
  option: "--hub-url" | "--runtime-url";
}

export const serverOf = (operation: Operation): Server =>
  operation === "runtime" ? { name: "runtime", option: "--runtime-url" } : { name: "hub", option: "--hub-url" };

interface OperationFacts {
  /** "Authenticating", at the start of every message. */
  doing: string;
  kind: ErrorKind | ((status: number | undefined) => ErrorKind);
  codeOf: (status: number, retryAfter?: string) => CodeOfStatus;
  /** A 404 may be a version that is still propagating. */
  retry404?: boolean;
}

const KEY_HINT = "Check the API key: it may be mistyped, revoked or expired.";

/** Codes of statuses, the same for every operation but publishing. */
function codeOf(status: number, retryAfter?: string): CodeOfStatus {
  switch (status) {
    case 401:
      return { code: "key_rejected", hint: KEY_HINT };
    case 403:
      return {
        code: "forbidden",
        hint: "The key or credential may not do this: check its project, scopes and expiry.",
      };
    case 404:
      return { code: "not_found", hint: "Check the project, target and version, and that the key may see them." };
    case 409:
      return { code: "conflict" };
    case 413:
      return {
        code: "too_large",
        hint: "Ask the hub's operator for a larger --max-artifact-size, or leave files out.",
      };
    case 429:
      return {
        code: "rate_limited",
        hint:
          retryAfter === undefined
            ? "Try again later."
            : `The hub asks to wait: Retry-After ${retryAfter.slice(0, 40)}.`,
      };
  }
  if (status === 408 || status >= 500)
    return { code: "hub_unavailable", hint: "Try again later; if it stays so, ask the hub's operator." };
  return { code: "hub_refused" };
}

/** Codes of a runtime's statuses. */
function runtimeCodeOf(status: number, retryAfter?: string): CodeOfStatus {
  if (status === 401 || status === 403)
    return { code: "key_rejected", hint: "Check the plugin key: it is app.secret_key of the runtime's configuration." };
  if (status === 404)
    return { code: "not_found", hint: "Check that the plugin stands in the runtime's plugins folder." };
  if (status === 408 || status >= 500)
    return { code: "runtime_unavailable", hint: "Look at the runtime's log, or try again later." };
  return codeOf(status, retryAfter);
}

function publishCodeOf(status: number, retryAfter?: string): CodeOfStatus {
  if (status === 409) {
    return { code: "version_exists", hint: "Published versions do not change: publish under a new version." };
  }
  if (status === 401 || status === 403 || status === 413 || status === 429 || status === 408 || status >= 500)
    return codeOf(status, retryAfter);
  return { code: "publish_refused" };
}

const rejected =
  (code: (status: number, retryAfter?: string) => CodeOfStatus) => (status: number, retryAfter?: string) =>
    status === 401 ? { ...code(status), note: "the API key was rejected: the hub answered" } : code(status, retryAfter);

/** Kinds by status for operations where a rejected key is an `AuthenticationError`. */
const orAuthentication =
  (kind: ErrorKind) =>
  (status: number | undefined): ErrorKind =>
    status === 401 || status === 403 ? "AuthenticationError" : kind;

export const OPERATIONS: Readonly<Record<Operation, OperationFacts>> = {
  auth: { doing: "Authenticating", kind: orAuthentication("DeploymentError"), codeOf },
  latest: { doing: "Reading the latest version", kind: "ArtifactError", codeOf },
  location: { doing: "Locating the artifact", kind: "ArtifactError", codeOf },
  download: { doing: "Downloading the artifact", kind: "ArtifactError", codeOf },
  authorize: { doing: "Authorizing the deployment", kind: orAuthentication("ArtifactError"), codeOf },
  report: { doing: "Reporting the deployment", kind: "DeploymentError", codeOf },
  publish: { doing: "Publishing", kind: orAuthentication("PublishError"), codeOf: publishCodeOf },
  keys: { doing: "The request to the key service", kind: orAuthentication("DeploymentError"), codeOf },
  fleet: { doing: "Reading the fleet", kind: orAuthentication("DeploymentError"), codeOf },
  detail: { doing: "Reading the target's detail", kind: "ArtifactError", codeOf: rejected(codeOf), retry404: true },
  install: { doing: "Fetching the artifact", kind: "ArtifactError", codeOf: rejected(codeOf), retry404: true },
  deploymentReport: { doing: "Reporting the deployment", kind: "ArtifactError", codeOf: rejected(codeOf) },
  health: { doing: "Asking the hub", kind: "DeploymentError", codeOf },
  runtime: { doing: "The request to the runtime", kind: orAuthentication("DeploymentError"), codeOf: runtimeCodeOf },
  marketplace: {
    doing: "The request to the marketplace",
    kind: orAuthentication("PublishError"),
    codeOf: publishCodeOf,
  },
};
