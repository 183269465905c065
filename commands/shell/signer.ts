import { readFile } from "node:fs/promises";
import { parsePublicKey } from "../../lib/artifact/signatures/key-files.ts";
import { usageError } from "../../lib/contract/errors.ts";

/** A key in hex, base64 or PEM that stands on the command line itself. */
const IS_KEY = /^(?:[0-9a-f]{64}|[A-Za-z0-9+/_-]{43}=?|-----BEGIN [^]*)$/i;

/**
 * `--signer-public-key`: a file, or the key itself in hex or base64.
 *
 * @throws UsageError `credential_unreadable`, `key_file_invalid`
 */
export async function publicKeyFrom(given: string): Promise<Uint8Array> {
  const content = await readFile(given).catch((error: NodeJS.ErrnoException) => {
    if (IS_KEY.test(given.trim())) return Buffer.from(given);
    if (error.code === "ENOENT") {
      throw usageError("credential_unreadable", `--signer-public-key ${given}: there is no such file.`, {
        cause: error,
        hint: "Give the path of signer.pub, or the key itself in hex or base64.",
      });
    }
    throw usageError("credential_unreadable", `--signer-public-key cannot be read: ${error.message}.`, {
      cause: error,
    });
  });
  return parsePublicKey(content, "--signer-public-key");
}
