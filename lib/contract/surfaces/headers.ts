/** Header names as written on the wire. */
export const HEADERS = {
  apiKey: "X-API-Key",
  signature: "X-Signature",
  /** Author's Ed25519 signature over the same bytes; the next header has the public key. Both base64. */
  signatureEd25519: "X-Signature-Ed25519",
  signer: "X-Signer",
  signatureStart: "X-Sealift-Signature-Start",
  plugin: "X-Plugin",
  service: "X-Service",
  repo: "X-Repo",
  pluginKey: "X-Plugin-Key",
  requestId: "X-Request-Id",
  /** Polling host, percent-encoded: the fleet view shows when each was last heard of. */
  host: "X-Sealift-Host",
  /** States that the caller tries mirrors first, so download URLs must be the hub's own, never a bucket's. */
  mirrored: "X-Sealift-Mirrored",
  /** Path and query at which the hub serves the same bytes without a key, for a while. */
  download: "X-Sealift-Download",
  /** Labels of the host, such as `env=prod,region=eu`. */
  labels: "X-Sealift-Labels",
  /** Version that the polling host runs, or `none`. */
  running: "X-Sealift-Running",
  /** Trust root that the polling host follows: the number of its version, a colon, and its digest. */
  root: "X-Sealift-Root",
  /** Seconds between two comments of a stream of hints, asked for by the client, and granted by the hub. */
  beat: "X-Sealift-Beat",
  /** Random name that a watch keeps for as long as it runs, by which hubs recognize clones of a machine. */
  instance: "X-Sealift-Instance",
} as const;

/** Prefix of `X-Signature`, before the lower-case hexadecimal HMAC. */
export const SIGNATURE_PREFIX = "hmac_sha256:";

/** Name of our programs in `User-Agent`; since 0.3.0 their version follows, as in `sealift/0.3.0`. */
export const USER_AGENT = "sealift";
