import type { Test } from "tap";
import { BUCKET, CREDENTIALS, openObjectStore } from "../../../scripts/bench/object-store.ts";

export { BUCKET };

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
