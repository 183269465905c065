import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { usageError } from "../../contract/errors.ts";
import { DiskBlobs } from "./disk.ts";
import type { Blobs } from "./port.ts";
import { parseS3Url } from "./s3-location.ts";

/**
 * Opens the blobs of `--blob-url`, ready for use: a folder (by default `blobs` in the data folder) or an S3 bucket.
 *
 * @throws UsageError `usage` for an address of another kind
 */
export async function openBlobs(dataDir: string, url: string | undefined): Promise<Blobs> {
  const blobs = await blobsOf(dataDir, url);
  await blobs.prepare();
  return blobs;
}

async function blobsOf(dataDir: string, url: string | undefined): Promise<Blobs & { prepare(): Promise<void> }> {
  if (url === undefined || url === "") return new DiskBlobs(join(dataDir, "blobs"));
  if (url.startsWith("file:")) return new DiskBlobs(fileURLToPath(url));
  if (url.startsWith("s3:")) {
    const location = parseS3Url(url);
    // Loaded only by hubs with a bucket: the SDK is large.
    const { S3Blobs } = await import("./s3.ts");
    return new S3Blobs(location, join(dataDir, "incoming"));
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) {
    throw usageError("usage", `Blob storage ${url.split(":")[0]}: is not known; use a folder or s3://bucket.`);
  }
  return new DiskBlobs(resolve(url));
}
