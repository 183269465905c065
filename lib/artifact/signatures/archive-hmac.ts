import { createHmac, timingSafeEqual } from "node:crypto";
import { open } from "node:fs/promises";
import { artifactError, usageError } from "../../contract/errors.ts";
import { SIGNATURE_PREFIX } from "../../contract/surfaces/headers.ts";
import { readFault } from "../../support/files.ts";
import { readChunks } from "../../support/read-chunks.ts";

/**
 * Returns the value of X-Signature for an archive: HMAC-SHA256 over its bytes, keyed with the secret's UTF-8 text
 * (docs/contract/marketplace.md).
 *
 * @throws UsageError `usage` when the file cannot be read
 */
export async function signArchive(path: string, secret: string, signal?: AbortSignal): Promise<string> {
  const hmac = createHmac("sha256", Buffer.from(secret, "utf8"));
  await using file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw usageError("usage", `${path} cannot be read: ${readFault(error)}.`, { hint: "Check the path." });
  });
  for await (const chunk of readChunks(file, signal)) hmac.update(chunk);
  return SIGNATURE_PREFIX + hmac.digest("hex");
}

/** Checks an archive's X-Signature while its bytes pass. */
export class ArchiveVerifier {
  readonly #hmac;
  readonly #expected: Buffer;

  /**
   * @param secret developer's signing secret, as text
   * @param expected HMAC in hexadecimal
   */
  constructor(secret: string, expected: string) {
    this.#hmac = createHmac("sha256", Buffer.from(secret, "utf8"));
    this.#expected = Buffer.from(expected, "hex");
  }

  update(chunk: Uint8Array): void {
    this.#hmac.update(chunk);
  }

  /** Ends the archive, and compares in constant time. @throws ArtifactError `signature_invalid` */
  verify(): void {
    const digest = this.#hmac.digest();
    if (digest.length === this.#expected.length && timingSafeEqual(digest, this.#expected)) return;
    throw artifactError("signature_invalid", "The HMAC of the artifact is not the one in X-Signature.", {
      hint: "Nothing was installed. Either --signing-secret is not the developer's, or these are not the developer's bytes.",
    });
  }
}
