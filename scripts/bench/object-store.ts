import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
/** An S3 server that keeps objects in a folder. It has no types. */
const S3rver = require("@20minutes/s3rver") as new (options: Record<string, unknown>) => {
  run(): Promise<{ port: number }>;
  close(): Promise<void>;
};

export const BUCKET = "blobs";

/** The credentials that the SDK finds in the environment; the server knows no other key. */
export const CREDENTIALS = { AWS_ACCESS_KEY_ID: "S3RVER", AWS_SECRET_ACCESS_KEY: "S3RVER", AWS_REGION: "us-east-1" };

/** Starts a server with one bucket in `folder`. */
export async function openObjectStore(folder: string): Promise<AsyncDisposable & { endpoint: string }> {
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
