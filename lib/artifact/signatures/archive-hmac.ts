import { createHmac } from "node:crypto";
import { open } from "node:fs/promises";
import { usageError } from "../../contract/errors.ts";
import { SIGNATURE_PREFIX } from "../../contract/surfaces/headers.ts";
import { readChunks } from "./ed25519.ts";

/**
 * The value of X-Signature for an archive: HMAC-SHA256 over its bytes, keyed with the secret's UTF-8 text (docs/contract/marketplace.md).
 *
 * @throws UsageError `usage` when the file cannot be read
 */
export async function signArchive(path: string, secret: string, signal?: AbortSignal): Promise<string> {
  const hmac = createHmac("sha256", Buffer.from(secret, "utf8"));
  await using file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw usageError("usage", `${path} cannot be read: ${error.message}.`);
  });
  for await (const chunk of readChunks(file, signal)) hmac.update(chunk);
  return SIGNATURE_PREFIX + hmac.digest("hex");
}
