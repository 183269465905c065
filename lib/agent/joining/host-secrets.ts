import { randomBytes } from "node:crypto";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { usageError } from "../../contract/errors.ts";
import {
  createPrivateFile,
  makePrivateFolder,
  missing,
  readFault,
  readTextFile,
  removeHalfMade,
  syncFolder,
} from "../../support/files.ts";
import { HOST_KEY, HOST_KEYS } from "../starters.ts";
import { hostKeyFile, type KeptHostKey, renewHostKey } from "./host-key-file.ts";

/** Maximum size of a file of secrets, in bytes. */
const MAX_BYTES = 4096;

/** Key and credential that a host has made for itself. */
export interface HostSecrets {
  key: string;
  credential: string;
  file: string;
  /** Key to which settings are sealed, in a file of its own. */
  hostKey: KeptHostKey;
  /** Removes the files that this program has made. */
  discard(): Promise<void>;
  /** Replaces both keys and the credential, of which the hub has removed the host. */
  renewed(): Promise<HostSecrets>;
}

const secret = (prefix: string): string => `${prefix}_${randomBytes(32).toString("base64url")}`;

/**
 * Returns the secrets of an interrupted join, or makes new ones. They are on disk before they are sent, so that a
 * repeated join sends the same.
 *
 * @throws UsageError `credential_unreadable` for a file with other content
 */
export async function hostSecrets(
  folder: string,
  { keys, key }: { keys: string; key: string } = { keys: HOST_KEYS, key: HOST_KEY },
): Promise<HostSecrets> {
  const file = join(folder, keys);
  const keyFile = join(folder, key);
  await makePrivateFolder(folder);
  const known = await readTextFile(file, MAX_BYTES).catch((error: unknown) => {
    if (missing(error)) return undefined;
    throw usageError("credential_unreadable", `${file} cannot be read: ${readFault(error)}.`, {
      cause: error,
      hint: "Run as the user who began to join, or remove the file.",
    });
  });
  const discarding =
    (...files: readonly string[]) =>
    async (): Promise<void> => {
      for (const made of files) await rm(made, { force: true });
    };
  const renewed = async (): Promise<HostSecrets> => {
    const next = `${file}.new`;
    await rm(next, { force: true });
    const made = await makeSecrets(next);
    // First: the key of before is that of a removed host, whatever becomes of the rest.
    const hostKey = await renewHostKey(keyFile);
    await rename(next, file);
    await syncFolder(folder);
    // They are new, so a refusal removes the files.
    return { ...made, file, hostKey, discard: discarding(file, keyFile), renewed };
  };
  const secrets = known === undefined ? undefined : secretsIn(known, file);
  if (secrets !== undefined) await removeHalfMade(file);
  const hostKey = await hostKeyFile(keyFile);
  const madeKey = hostKey.isNew ? [keyFile] : [];
  if (secrets !== undefined) return { ...secrets, file, hostKey, discard: discarding(...madeKey), renewed };
  const made = await makeSecrets(file);
  return { ...made, file, hostKey, discard: discarding(file, ...madeKey), renewed };
}

/** Writes a new file with secrets, which is on the disk before they are used. */
async function makeSecrets(file: string): Promise<Pick<HostSecrets, "key" | "credential">> {
  const made = { key: secret("slk"), credential: secret("sdc") };
  await createPrivateFile(file, `SEALIFT_API_KEY=${made.key}\nSEALIFT_DEPLOYMENT_CREDENTIAL=${made.credential}\n`);
  return made;
}

function secretsIn(text: string, file: string): { key: string; credential: string } {
  const key = /^SEALIFT_API_KEY=(slk_[\w-]{43})$/m.exec(text)?.[1];
  const credential = /^SEALIFT_DEPLOYMENT_CREDENTIAL=(sdc_[\w-]{43})$/m.exec(text)?.[1];
  if (key !== undefined && credential !== undefined) return { key, credential };
  throw usageError("credential_unreadable", `${file} does not hold the key and the credential of a host.`, {
    hint: "Remove it, or name another folder with --out.",
  });
}
