import { readFileSync } from "node:fs";
import { join } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { missing, readFault } from "../files.ts";

/**
 * Reads a secret that the unit got with `LoadCredential=NAME:…`, without its final newline; undefined without one.
 *
 * @param name a plain file name
 * @throws UsageError `credential_unreadable`
 */
export function systemdCredential(
  name: string,
  { CREDENTIALS_DIRECTORY: folder }: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (!folder) return undefined;
  try {
    return readFileSync(join(folder, name), "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    if (missing(error)) return undefined;
    throw usageError("credential_unreadable", `The credential ${name} cannot be read: ${readFault(error)}.`, {
      cause: error,
    });
  }
}
