import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { usageError } from "../contract/errors.ts";
import { readUserFile, userFile, writeUserFile } from "./user-file.ts";

/**
 * Trusted files of options, by path and content, in the user's own configuration folder.
 *
 * Otherwise anyone who can change the `sealift.yaml` of a folder (such as the author of a pull request) could have a
 * key of the environment sent to a hub of their own.
 */

interface TrustedFolders {
  v: 1;
  /** Digest of each trusted file, by the file's real path. */
  files: Readonly<Record<string, string>>;
}

/** Variable that trusts files where nobody can run `sealift trust-folder`. */
export const TRUST_VARIABLE = "SEALIFT_TRUST_FOLDER";

const storePath = (environment: NodeJS.ProcessEnv): string => userFile("trusted-folders.json", environment);

/** Returns the digest of a file's text, as `sealift trust-folder` shows it. */
export const trustDigest = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`;

/** Returns the trusted files with their digests. @throws UsageError `credential_unreadable` */
export function trustedFiles(environment: NodeJS.ProcessEnv = process.env): TrustedFolders["files"] {
  const file = storePath(environment);
  const found = readUserFile<TrustedFolders>(
    file,
    ({ v, files }) => v === 1 && typeof files === "object" && files !== null,
    "Remove it and run `sealift trust-folder` again.",
  );
  return found?.files ?? {};
}

/**
 * Tells whether the text that was read from a file is trusted.
 *
 * @param environment `SEALIFT_TRUST_FOLDER` trusts any file (`yes`), or the one with this digest (`sha256:…`)
 * @throws UsageError `usage` for another value of that variable
 */
export function isTrusted(file: string, text: string, environment: NodeJS.ProcessEnv = process.env): boolean {
  const given = environment[TRUST_VARIABLE] ?? "";
  if (/^(?:1|true|yes|on)$/i.test(given)) return true;
  if (!/^(?:|0|false|no|off|sha256:[0-9a-f]{64})$/i.test(given))
    throw usageError(
      "usage",
      `${TRUST_VARIABLE} is yes, no or a digest such as sha256:…, not ${JSON.stringify(given)}.`,
    );
  const digest = trustDigest(text);
  return digest === given.toLowerCase() || trustedFiles(environment)[realpathSync(file)] === digest;
}

/** Trusts a file with this text. @returns its real path and its digest */
export async function trustFile(
  file: string,
  text: string,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<{ path: string; digest: string }> {
  const [path, digest] = [realpathSync(file), trustDigest(text)];
  await writeUserFile(storePath(environment), { v: 1, files: { ...trustedFiles(environment), [path]: digest } });
  return { path, digest };
}

/** Removes a trusted file. @returns whether it was trusted */
export async function distrustFile(path: string, environment: NodeJS.ProcessEnv = process.env): Promise<boolean> {
  const { [path]: found, ...files } = trustedFiles(environment);
  if (found !== undefined) await writeUserFile(storePath(environment), { v: 1, files });
  return found !== undefined;
}
