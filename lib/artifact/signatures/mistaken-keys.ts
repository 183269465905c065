import { open, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { publicKeyOf } from "./ed25519.ts";
import { keyFileInvalid, publicKeyIn } from "./key-files.ts";

/**
 * Finds private keys passed as public ones and the reverse. Without PEM both look alike; neighbouring files distinguish
 * them.
 */

/** Most neighbouring files that are read. */
const MOST_NEIGHBOURS = 100;
/** Largest file that can hold a key, in bytes. */
const MAX_KEY_BYTES = 4096;

/** Reads the public keys in the `.pub` files of a folder, by file name. */
async function publicKeysIn(folder: string): Promise<Map<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((each) => each.endsWith(".pub")).slice(0, MOST_NEIGHBOURS)) {
    const key = publicKeyIn(await beginningOf(join(folder, name)).catch(() => Buffer.alloc(0)));
    if (key !== undefined) found.set(name, key);
  }
  return found;
}

async function beginningOf(path: string): Promise<Buffer> {
  await using file = await open(path, "r");
  const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_KEY_BYTES), 0, MAX_KEY_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}

const nameOf = (keys: ReadonlyMap<string, Uint8Array>, wanted: Uint8Array): string | undefined =>
  [...keys].find(([, key]) => Buffer.from(key).equals(wanted))?.[0];

/**
 * Rejects a private key that is the public key of a neighbouring `.pub` file: anybody could sign with it.
 *
 * @param file path that the key was read from
 * @throws UsageError `key_file_invalid`
 */
export async function refusePublicAsPrivate(seed: Uint8Array, file: string): Promise<void> {
  const public_ = nameOf(await publicKeysIn(dirname(file)), seed);
  if (public_ === undefined) return;
  throw keyFileInvalid(
    `${basename(file)} holds the public key of ${public_}, and a private one is needed.`,
    "Anybody could sign with it. Give signer.key, or make a key pair with `sealift signer create`.",
  );
}

/**
 * Rejects a public key that is the private key of a neighbouring `.pub` file: it does not belong on a host.
 *
 * @param file path that the key was read from
 * @throws UsageError `key_file_invalid`
 */
export async function refusePrivateAsPublic(key: Uint8Array, file: string): Promise<void> {
  const public_ = nameOf(await publicKeysIn(dirname(file)), publicKeyOf(key));
  if (public_ === undefined) return;
  throw keyFileInvalid(
    `${basename(file)} holds the private key of ${public_}, and a public one is needed.`,
    `Give ${public_}. Keep the private key where you publish, and nowhere else.`,
  );
}
