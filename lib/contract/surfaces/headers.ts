/** Header names as they are written on the wire. */
export const HEADERS = {
  apiKey: "X-API-Key",
  signature: "X-Signature",
  /** The author's Ed25519 signature over the same bytes, and the public key that made it: base64. */
  signatureEd25519: "X-Signature-Ed25519",
  signer: "X-Signer",
  signatureStart: "X-Sealift-Signature-Start",
  plugin: "X-Plugin",
  service: "X-Service",
  repo: "X-Repo",
  pluginKey: "X-Plugin-Key",
  requestId: "X-Request-Id",
  /** The host that polls, percent-encoded: the fleet view says when each was last heard of. */
  host: "X-Sealift-Host",
  /** The caller asks mirrors first: addresses of bytes are the hub's own, never a bucket's. */
  mirrored: "X-Sealift-Mirrored",
  /** The path and query at which the hub gives the same bytes without a key, for a while. */
  download: "X-Sealift-Download",
  /** Labels of the host, such as `env=prod,region=eu`. */
  labels: "X-Sealift-Labels",
  /** The version that the polling host runs, or `none`. */
  running: "X-Sealift-Running",
  /** A random name that a watch has for as long as it runs: hubs tell clones of one machine apart by it. */
  instance: "X-Sealift-Instance",
} as const;

/** The prefix of `X-Signature`, before the lower-case hexadecimal HMAC. */
export const SIGNATURE_PREFIX = "hmac_sha256:";
