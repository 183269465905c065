import { parsePrivateKey } from "../../lib/artifact/signatures/key-files.ts";
import { refusePublicAsPrivate } from "../../lib/artifact/signatures/mistaken-keys.ts";
import { usageError } from "../../lib/contract/errors.ts";
import { readFault, readKeyFile } from "../../lib/support/files.ts";

/**
 * Reads the operator's private key.
 *
 * @returns its seed
 * @throws UsageError `credential_unreadable`, `key_file_invalid`, also for a public key
 */
export async function operatorSeedIn(file: string): Promise<Uint8Array> {
  const content = await readKeyFile(file).catch((error: unknown) => {
    throw usageError("credential_unreadable", `--operator-key ${file} cannot be read: ${readFault(error)}.`, {
      cause: error,
      hint: "`sealift signer create --out operator` makes one: operator/signer.key.",
    });
  });
  const seed = parsePrivateKey(content, "--operator-key");
  await refusePublicAsPrivate(seed, file);
  return seed;
}
