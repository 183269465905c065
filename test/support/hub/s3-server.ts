import { createRequire } from "node:module";
import type { Test } from "tap";

const require = createRequire(import.meta.url);
/** An S3 server that keeps objects in a folder. It has no types. */
const S3rver = require("@20minutes/s3rver") as new (options: Record<string, unknown>) => {
  run(): Promise<{ port: number }>;
  close(): Promise<void>;
};

export const BUCKET = "blobs";

/** The credentials that the SDK finds in the environment; the server knows no other key. */
const CREDENTIALS = { AWS_ACCESS_KEY_ID: "S3RVER", AWS_SECRET_ACCESS_KEY: "S3RVER", AWS_REGION: "us-east-1" };

/** Starts a server with one bucket in `folder`. */
async function openObjectStore(folder: string): Promise<AsyncDisposable & { endpoint: string }> {
  const server = new S3rver({
    address: "127.0.0.1",
    port: 0,
    directory: folder,
    silent: true,
    // It takes /bucket and /bucket/ for different paths where the SDK signs the latter.
    allowMismatchedSignatures: true,
    configureBuckets: [{ name: BUCKET }],
  });
  const { port } = await server.run();
  return { endpoint: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => server.close() };
}

export interface S3Server {
  endpoint: string;
  /** For `--blob-url`, below a prefix. */
  url: (prefix?: string, parameters?: string) => string;
  /** The environment of a hub that may use it. */
  environment: Record<string, string>;
  /** Ends it before its test does. */
  close: () => Promise<void>;
}

/**
 * Starts a server with one bucket in `folder`, and puts its credentials into this process's environment; both end with
 * the test.
 */
export async function startS3(t: Test, folder: string): Promise<S3Server> {
  const server = await openObjectStore(folder);
  const { endpoint } = server;
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= Promise.resolve(server[Symbol.asyncDispose]()));
  t.teardown(close);
  for (const [name, value] of Object.entries(CREDENTIALS)) {
    const before = process.env[name];
    process.env[name] = value;
    t.teardown(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
  return {
    endpoint,
    url: (prefix = "hub", parameters = "") =>
      `s3://${BUCKET}/${prefix}?endpoint=${encodeURIComponent(endpoint)}${parameters}`,
    environment: CREDENTIALS,
    close,
  };
}
