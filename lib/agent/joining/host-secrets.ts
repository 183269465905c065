import { randomBytes } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { makePrivateFolder, missing, readFault, readTextFile, syncFolder } from "../../support/files.ts";
import { HOST_KEYS } from "../starters.ts";

/** Maximum size of a file of secrets, in bytes. */
const MAX_BYTES = 4096;

/** Key and credential that a host has made for itself. */
export interface HostSecrets {
  key: string;
  credential: string;
  file: string;
  /** Removes the file, if this program has made it. */
  discard(): Promise<void>;
  /** Replaces key and credential, of which the hub has removed the host. */
  renewed(): Promise<HostSecrets>;
}

const secret = (prefix: string): string => `${prefix}_${randomBytes(32).toString("base64url")}`;

/**
 * Returns the secrets of an interrupted join, or makes new ones. They are on disk before they are sent, so that a
 * repeated join sends the same.
 *
 * @throws UsageError `credential_unreadable` for a file with other content
 */
export async function hostSecrets(folder: string, name = HOST_KEYS): Promise<HostSecrets> {
  const file = join(folder, name);
  await makePrivateFolder(folder);
  const known = await readTextFile(file, MAX_BYTES).catch((error: unknown) => {
    if (missing(error)) return undefined;
    throw usageError("credential_unreadable", `${file} cannot be read: ${readFault(error)}.`, {
      cause: error,
      hint: "Run as the user who began to join, or remove the file.",
    });
  });
  const renewed = async (): Promise<HostSecrets> => {
    const next = `${file}.new`;
    await rm(next, { force: true });
    const made = await makeSecrets(next);
    await rename(next, file);
    await syncFolder(folder);
    // They are new, so a refusal removes the file.
    return { ...made, file, discard: () => rm(file, { force: true }), renewed };
  };
  if (known !== undefined) return { ...secretsIn(known, file), file, discard: () => Promise.resolve(), renewed };
  const made = await makeSecrets(file);
  await syncFolder(folder);
  return { ...made, file, discard: () => rm(file, { force: true }), renewed };
}

/** Writes a new file with secrets, which is on the disk before they are used. */
async function makeSecrets(file: string): Promise<Pick<HostSecrets, "key" | "credential">> {
  const made = { key: secret("slk"), credential: secret("sdc") };
  await using handle = await open(file, "wx", 0o600);
  await handle.writeFile(`SEALIFT_API_KEY=${made.key}\nSEALIFT_DEPLOYMENT_CREDENTIAL=${made.credential}\n`);
  await handle.sync();
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
