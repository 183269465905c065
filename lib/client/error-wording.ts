import type { Code } from "../contract/codes.ts";
import type { ErrorKind } from "../contract/errors.ts";

/** Operation of a client on a hub, as named in messages and in the contract's table of error kinds. */
export type Operation =
  | "auth"
  | "latest"
  | "settings"
  | "location"
  | "download"
  | "authorize"
  | "report"
  | "publish"
  | "keys"
  | "exchange"
  | "fleet"
  | "detail"
  | "install"
  | "deploymentReport"
  | "marketplace"
  | "hints"
  | "health"
  | "runtime";

interface CodeOfStatus {
  code: Code;
  hint?: string;
  /** Replaces "the hub answered". */
  note?: string;
}

/** Server that answers an operation, and what names it: `join` and `login` have the hub's URL as an argument. */
export interface Server {
  name: "hub" | "runtime";
  option: "the hub's URL" | "--runtime-url";
}

export const serverOf = (operation: Operation): Server =>
  operation === "runtime" ? { name: "runtime", option: "--runtime-url" } : { name: "hub", option: "the hub's URL" };

interface OperationFacts {
  /** Ending of every message, such as "authenticating"; empty where the message is clear without it. */
  doing: string;
  kind: ErrorKind | ((status: number | undefined) => ErrorKind);
  codeOf: (status: number, retryAfter?: string) => CodeOfStatus;
  /** Whether a 404 may be a version that is still propagating. */
  retry404?: boolean;
}

/** Advice for an API key that a hub refuses. */
export const KEY_HINT = "Check the API key: it may be mistyped, revoked or expired.";

/** Returns the code of a status, which is the same for every operation but publishing. */
function codeOf(status: number, retryAfter?: string): CodeOfStatus {
  switch (status) {
    case 401:
      return { code: "key_rejected", hint: KEY_HINT };
    case 403:
      return {
        code: "forbidden",
        hint: "`sealift key list` shows what a key may do and until when; `sealift key create` makes one with other scopes.",
      };
    case 404:
      return {
        code: "not_found",
        hint: "`sealift project list`, `sealift version list TARGET` and `sealift fleet TARGET` show what this key may see.",
      };
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

/** Returns the code of a runtime's status. */
function runtimeCodeOf(status: number, retryAfter?: string): CodeOfStatus {
  if (status === 401 || status === 403)
    return { code: "key_rejected", hint: "Check the plugin key: it is app.secret_key of the runtime's configuration." };
  if (status === 404)
    return { code: "not_found", hint: "Check that the plugin stands in the runtime's plugins folder." };
  if (status === 408 || status >= 500)
    return { code: "runtime_unavailable", hint: "Look at the runtime's log, or try again later." };
  return codeOf(status, retryAfter);
}

/** Returns the code of a status of the exchange of an identity token, where no API key is to blame. */
function exchangeCodeOf(status: number, retryAfter?: string): CodeOfStatus {
  const answer = codeOf(status, retryAfter);
  if (status === 401) return { ...answer, hint: "Ask the CI provider for a new token: each is good for one exchange." };
  if (status === 403)
    return { ...answer, hint: "`sealift publisher list` shows which workflows are trusted, and for what." };
  return answer;
}

function publishCodeOf(status: number, retryAfter?: string): CodeOfStatus {
  if (status === 409) {
    return { code: "version_exists", hint: "Published versions do not change: publish under a new version." };
  }
  if (status === 401 || status === 403 || status === 413 || status === 429 || status === 408 || status >= 500)
    return codeOf(status, retryAfter);
  if (status === 404)
    return {
      code: "publish_refused",
      hint: "Check --project-id and that the key may publish there; `sealift project create NAME` makes a project.",
    };
  return { code: "publish_refused" };
}

const rejected =
  (code: (status: number, retryAfter?: string) => CodeOfStatus) => (status: number, retryAfter?: string) =>
    status === 401 ? { ...code(status), note: "the API key was rejected: the hub answered" } : code(status, retryAfter);

/** Returns the kind by status for operations where a rejected key is an `AuthenticationError`. */
const orAuthentication =
  (kind: ErrorKind) =>
  (status: number | undefined): ErrorKind =>
    status === 401 || status === 403 ? "AuthenticationError" : kind;

export const OPERATIONS: Readonly<Record<Operation, OperationFacts>> = {
  auth: { doing: "authenticating", kind: orAuthentication("DeploymentError"), codeOf },
  latest: { doing: "reading the latest version", kind: "ArtifactError", codeOf },
  settings: { doing: "", kind: orAuthentication("DeploymentError"), codeOf },
  location: { doing: "locating the artifact", kind: "ArtifactError", codeOf },
  download: { doing: "downloading the artifact", kind: "ArtifactError", codeOf },
  authorize: { doing: "authorizing the deployment", kind: orAuthentication("ArtifactError"), codeOf },
  report: { doing: "reporting the deployment", kind: "DeploymentError", codeOf },
  publish: { doing: "publishing", kind: orAuthentication("PublishError"), codeOf: publishCodeOf },
  keys: { doing: "", kind: orAuthentication("DeploymentError"), codeOf },
  exchange: { doing: "", kind: orAuthentication("DeploymentError"), codeOf: exchangeCodeOf },
  fleet: { doing: "reading the fleet", kind: orAuthentication("DeploymentError"), codeOf },
  detail: { doing: "reading the target's detail", kind: "ArtifactError", codeOf: rejected(codeOf), retry404: true },
  install: { doing: "fetching the artifact", kind: "ArtifactError", codeOf: rejected(codeOf), retry404: true },
  deploymentReport: { doing: "reporting the deployment", kind: "ArtifactError", codeOf: rejected(codeOf) },
  hints: { doing: "listening for hints", kind: orAuthentication("DeploymentError"), codeOf },
  health: { doing: "", kind: "DeploymentError", codeOf },
  runtime: { doing: "", kind: orAuthentication("DeploymentError"), codeOf: runtimeCodeOf },
  marketplace: {
    doing: "",
    kind: orAuthentication("PublishError"),
    codeOf: publishCodeOf,
  },
};

/** Matches Node's codes for an untrusted certificate. */
const CERTIFICATE = /^(?:CERT_|ERR_TLS_CERT|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN)/;

/** Explains why a server cannot be reached, and what to do about it. @param code of the system, Node or OpenSSL */
export function connectionFault(
  code: string,
  { origin, hostname }: URL,
  server: Server,
): { why: string; hint: string } {
  const check = `Check ${server.option} and that the ${server.name} is running, then try again.`;
  if (code === "ECONNREFUSED") return { why: `nothing listens at ${origin} (${code})`, hint: check };
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return { why: `the name ${hostname} has no address (${code})`, hint: `Check ${server.option} and your network.` };
  if (code === "EPROTO" || code.startsWith("ERR_SSL_"))
    return {
      why: `${origin} does not speak TLS as expected (${code})`,
      hint: `If it serves plain HTTP, give ${server.option} with http://.`,
    };
  if (code === "HPE_HEADER_OVERFLOW")
    return { why: `${origin} sent more headers than an answer may have (${code})`, hint: check };
  if (code.startsWith("HPE_"))
    return {
      why: `${origin} does not speak HTTP (${code})`,
      hint: `If it serves TLS, give ${server.option} with https://.`,
    };
  if (CERTIFICATE.test(code))
    return {
      why: `the certificate of ${origin} is not trusted (${code})`,
      hint: "Give the certificate of the authority that issued it with --ca-file.",
    };
  const lost = code === "ECONNRESET" || code === "EPIPE";
  return { why: `the connection to ${origin} ${lost ? "was lost" : "failed"} (${code})`, hint: check };
}
