import { readFile } from "node:fs/promises";
import { parsePublicKey } from "../../lib/artifact/signatures/key-files.ts";
import { usageError } from "../../lib/contract/errors.ts";

/** `--signer-public-key`: a file, or the key itself in hex or base64. @throws UsageError `credential_unreadable`, `key_file_invalid` */
export async function publicKeyFrom(given: string): Promise<Uint8Array> {
  const content = await readFile(given).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENAMETOOLONG") return Buffer.from(given);
    throw usageError("credential_unreadable", `--signer-public-key cannot be read: ${error.message}.`, {
      cause: error,
    });
  });
  return parsePublicKey(content, "--signer-public-key");
}
