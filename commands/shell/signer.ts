import { parsePrivateKey, parsePublicKeys } from "../../lib/artifact/signatures/key-files.ts";
import { refusePrivateAsPublic, refusePublicAsPrivate } from "../../lib/artifact/signatures/mistaken-keys.ts";
import { usageError } from "../../lib/contract/errors.ts";
import type { Layer } from "../../lib/options/layers.ts";
import { readFault, readKeyFile } from "../../lib/support/files.ts";

/** Matches a key in hex, base64 or PEM on the command line itself. */
const IS_KEY = /^(?:[0-9a-f]{64}|[A-Za-z0-9+/_-]{43}=?|-----BEGIN [^]*)$/i;

/**
 * Returns the public key of an option: a file, or the key itself in hex or base64.
 *
 * @throws UsageError `credential_unreadable`, `key_file_invalid`, also for a file with several keys
 */
export async function publicKeyFrom(given: string, option = "--signer-public-key"): Promise<Uint8Array> {
  const [key, ...others] = await publicKeysIn(given, option);
  if (others.length === 0) return key!;
  throw usageError("key_file_invalid", `${option} ${given} holds ${others.length + 1} keys, and one is needed.`);
}

/** Returns the public keys of `--signer-public-key`, each once. @throws as {@link publicKeyFrom} */
export async function publicKeysFrom(given: readonly string[]): Promise<Uint8Array[]> {
  const keys = new Map<string, Uint8Array>();
  for (const each of given)
    for (const key of await publicKeysIn(each, "--signer-public-key")) keys.set(Buffer.from(key).toString("hex"), key);
  return [...keys.values()];
}

async function publicKeysIn(given: string, option: string): Promise<Uint8Array[]> {
  let isFile = true;
  const content = await readKeyFile(given).catch((error: NodeJS.ErrnoException) => {
    isFile = false;
    if (IS_KEY.test(given.trim())) return Buffer.from(given);
    if (error.code === "ENOENT") {
      throw usageError("credential_unreadable", `${option} ${given}: there is no such file.`, {
        cause: error,
        hint: "Give the path of signer.pub, or the key itself in hex or base64.",
      });
    }
    throw usageError("credential_unreadable", `${option} ${given} cannot be read: ${readFault(error)}.`, {
      cause: error,
      hint: "Give the path of signer.pub, or the key itself in hex or base64.",
    });
  });
  const keys = parsePublicKeys(content, option);
  if (isFile) for (const key of keys) await refusePrivateAsPublic(key, given);
  return keys;
}

/**
 * Returns the seed of `--signing-key-file`.
 *
 * @param content of the file
 * @param layers where the option is given
 * @throws UsageError `key_file_invalid`, also for a public key
 */
export async function signingSeed(content: Uint8Array, layers: readonly Layer[]): Promise<Uint8Array> {
  const name = "signing-key-file";
  const seed = parsePrivateKey(content, `--${name}`);
  const file = layers.map((layer) => layer.get(name)).find((given) => given !== undefined);
  if (typeof file === "string") await refusePublicAsPrivate(seed, file);
  return seed;
}
