import { usageError } from "../contract/errors.ts";
import { ifThere, readFault, readKeyFile } from "../support/files.ts";

/** Codes of errors that say nothing of the file: the machine lacks something, or breaks. */
const OF_THE_MACHINE: ReadonlySet<string> = new Set(["EIO", "EMFILE", "ENFILE", "ENOMEM"]);

/**
 * Reads a file of settings whole. A link is followed; whoever replaces the file puts a file of its own in its place.
 *
 * @returns undefined where there is none
 * @throws UsageError `config_invalid` for a pipe, a folder, or a file that may not be read
 */
export async function readSettingsFile(path: string): Promise<Buffer | undefined> {
  try {
    return await ifThere(readKeyFile(path));
  } catch (error) {
    if (OF_THE_MACHINE.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    throw usageError("config_invalid", `The settings ${path} cannot be read: ${readFault(error)}.`, {
      cause: error,
      hint: "Put a file in its place that the user of this program may read, or remove it.",
    });
  }
}
