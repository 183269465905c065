import { rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { HOST_SEED_BYTES, type HostKey, hostKeyOf, newHostSeed } from "../../artifact/sealed/host-key.ts";
import { usageError } from "../../contract/errors.ts";
import {
  createPrivateFile,
  missing,
  readFault,
  readTextFile,
  removeHalfMade,
  syncFolder,
} from "../../support/files.ts";

/** Maximum size of a file with a host's key, in bytes. */
const MAX_BYTES = 4096;

/** Key of a host, with the file that has its seed. */
export interface KeptHostKey {
  key: HostKey;
  file: string;
  /** Whether this program has made it. */
  isNew: boolean;
}

/**
 * Reads the key of a host from the text of its file: 64 hexadecimal digits.
 *
 * @param name of the file in messages
 * @throws UsageError `key_file_invalid`; the content is never shown
 */
export function hostKeyIn(text: string, name: string): HostKey {
  const seed = Buffer.from(text.trim(), "hex");
  if (seed.length === HOST_SEED_BYTES && /^[0-9a-f]{64}$/.test(text.trim())) return hostKeyOf(seed);
  throw usageError("key_file_invalid", `${name} does not hold the key of a host.`, {
    hint: "It is the file that `sealift join` or `sealift host key` has made. Without it, `sealift host key` makes another.",
  });
}

/**
 * Returns the key of a host, or makes one, which is on the disk before anything of it is sent.
 *
 * @param file 0600, in a folder that is there
 * @throws UsageError `key_file_invalid`, `credential_unreadable`
 */
export async function hostKeyFile(file: string): Promise<KeptHostKey> {
  const text = await readTextFile(file, MAX_BYTES).catch((error: unknown) => {
    if (missing(error)) return undefined;
    throw usageError("credential_unreadable", `${file} cannot be read: ${readFault(error)}.`, {
      cause: error,
      hint: "Run as the user whose file it is.",
    });
  });
  if (text === undefined) return { key: await makeHostKey(file), file, isNew: true };
  const key = hostKeyIn(text, file);
  await removeHalfMade(file);
  return { key, file, isNew: false };
}

/** Replaces the key of a host, as when its hub has removed it: the old one stands in rolls as removed. */
export async function renewHostKey(file: string): Promise<KeptHostKey> {
  const next = `${file}.new`;
  await rm(next, { force: true });
  const key = await makeHostKey(next);
  await rename(next, file);
  await syncFolder(dirname(file));
  return { key, file, isNew: true };
}

async function makeHostKey(file: string): Promise<HostKey> {
  const seed = newHostSeed();
  await createPrivateFile(file, textOf(seed));
  return hostKeyOf(seed);
}

const textOf = (seed: Buffer): string => `${seed.toString("hex")}\n`;
