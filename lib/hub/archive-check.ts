import type { Entry } from "yauzl-promise";
import { DEFAULT_LIMITS, type Limits, RATIO_FREE_BYTES } from "../artifact/limits.ts";
import { NameRegistry, quoted, safeComponents } from "../artifact/safe-path.ts";
import { artifactError, SealiftError } from "../contract/errors.ts";
import { HubError } from "./errors.ts";

/**
 * Looks at a ZIP archive as an agent would before unpacking it.
 *
 * @param path a file that holds the whole archive
 * @throws SealiftError with the code of what is wrong
 */
export type CheckArchive = (path: string) => Promise<void>;

const STORED = 0;
const DEFLATED = 8;

function checkEntry(entry: Entry, names: NameRegistry, limits: Limits): void {
  const isFolder = entry.filename.endsWith("/");
  names.add(safeComponents(entry.filename, limits), isFolder ? "folder" : "file");
  const name = quoted(entry.filename);
  if (entry.isEncrypted()) throw artifactError("zip_invalid", `The entry ${name} is encrypted.`);
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    throw artifactError("zip_invalid", `The entry ${name} uses compression method ${entry.compressionMethod}.`);
  }
  if (entry.uncompressedSize > limits.maxEntryBytes) {
    throw artifactError("limit_exceeded", `The entry ${name} is larger than ${limits.maxEntryBytes} bytes.`);
  }
}

/** Walks the central directory: names, duplicates, methods, sizes and ratio. Links are left to the agent's own `--symlinks`. */
export const checkArchive: CheckArchive = async (path) => {
  const limits = DEFAULT_LIMITS;
  const invalid = (error: unknown) =>
    error instanceof SealiftError
      ? error
      : artifactError("zip_invalid", `${(error as Error).message.replace(/\.$/, "")}.`, { cause: error });
  const { open } = await import("yauzl-promise");
  const zip = await open(path, { validateFilenames: false }).catch((error: unknown) => {
    throw invalid(error);
  });
  try {
    const names = new NameRegistry();
    let [entries, packed, unpacked] = [0, 0, 0];
    for await (const entry of zip) {
      checkEntry(entry, names, limits);
      entries += 1;
      packed += entry.compressedSize;
      unpacked += entry.uncompressedSize;
      if (entries > limits.maxEntries) throw artifactError("limit_exceeded", "The archive has too many entries.");
      const bomb = unpacked > RATIO_FREE_BYTES && unpacked > packed * limits.maxRatio;
      if (bomb || unpacked > limits.maxTotalBytes) {
        throw artifactError("limit_exceeded", "The archive would unpack to more than the limits allow.");
      }
    }
    if (entries === 0) throw artifactError("zip_invalid", "The archive is empty.");
  } catch (error) {
    throw invalid(error);
  } finally {
    await zip.close();
  }
};

/** Runs the check. @throws 422 with the check's own code and message */
export async function requireSoundArchive(check: CheckArchive, path: string): Promise<void> {
  try {
    await check(path);
  } catch (error) {
    if (!(error instanceof SealiftError) || error.code === "internal") throw error;
    throw new HubError(422, error.code, `No agent would install this archive: ${error.message}`, { cause: error });
  }
}
