import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, readdir, rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncStick } from "../../artifact/kits/kit-folder.ts";
import { deploymentError, type SealiftError, usageError } from "../../contract/errors.ts";
import { KIT_BYTES_FILE, KIT_FILE, KIT_REPORTS_FOLDER } from "../../contract/kits/limits.ts";
import { makeFolder, writeFault } from "../../support/files.ts";
import { sizeText } from "../../support/size-text.ts";

/** Names that a kit has, in small letters: FAT may give them in others. */
const OWN = new Set([KIT_FILE, KIT_BYTES_FILE]);

/**
 * Prepares the folder of a new kit. Reports of earlier ones may lie there.
 *
 * @throws UsageError `usage` for a folder with another kit, or that cannot be made
 */
export async function prepareStick(folder: string): Promise<void> {
  await makeFolder(folder).catch((error: unknown) => {
    throw usageError("usage", `--out ${folder} cannot be made: ${writeFault(error)}.`, { cause: error });
  });
  const names = await readdir(folder).catch((error: unknown) => {
    throw stickError(folder, error);
  });
  const taken = names.find((name) => OWN.has(name.toLowerCase()));
  if (taken === undefined) return;
  const isKit = names.some((name) => name.toLowerCase() === KIT_FILE);
  throw usageError("usage", `--out ${folder} has ${taken} already.`, {
    hint: !isKit
      ? `It is no kit without ${KIT_FILE}, such as an attempt that was interrupted leaves: remove it, and run this again.`
      : `A stick takes several kits, each in a folder of its own. Take the reports in ${KIT_REPORTS_FOLDER} from the old one first: sealift kit submit ${folder}`,
  });
}

/**
 * Requires that a stick has room for so many bytes, before they are fetched. A file system that does not say how large
 * it is, as some that users mount, is full when it is full.
 *
 * @throws DeploymentError `disk_full`
 */
export async function requireRoom(folder: string, bytes: number): Promise<void> {
  const { blocks, bavail, bsize } = await statfs(folder).catch((error: unknown) => {
    throw stickError(folder, error);
  });
  const room = bavail * bsize;
  if (blocks === 0 || room >= bytes) return;
  throw deploymentError(
    "disk_full",
    `The stick has ${sizeText(room)} left, and the kit needs ${sizeText(bytes)}: ${folder}.`,
    {
      hint: "Nothing was fetched. Make room, or take another stick.",
    },
  );
}

/** Returns the error of a stick that does not take the kit's bytes. */
function stickError(path: string, error: unknown): SealiftError {
  const { code } = error as NodeJS.ErrnoException;
  const rest = { cause: error, hint: "Nothing of the kit counts. Have it made again." };
  if (code === "EFBIG")
    return deploymentError("kit_too_large", `${path} is larger than the stick's file system lets a file be.`, {
      ...rest,
      hint: "FAT32 ends at 4 GiB a file: format the stick with exFAT, or make the kit in a folder with another one.",
    });
  if (code === "ENOSPC" || code === "EDQUOT") return deploymentError("disk_full", `The stick is full: ${path}.`, rest);
  return deploymentError("kit_unwritable", `${path} cannot be written: ${writeFault(error)}.`, rest);
}

/** Writes a new file in the kit. @param name in small letters @returns its size and SHA-256, once it is on the stick */
export async function writeNew(
  folder: string,
  name: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<{ size: number; sha256: string }> {
  const path = join(folder, name);
  /** Waits for work on the stick. @throws as {@link stickError} says it */
  const onStick = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw stickError(path, error);
    });
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const file = await onStick(open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644));
  const hash = createHash("sha256");
  let size = 0;
  try {
    for await (const chunk of chunks) {
      hash.update(chunk);
      size += chunk.length;
      await onStick(writeAll(file, chunk));
    }
    await onStick(file.sync());
    await onStick(syncStick(folder, dirname(folder)));
  } catch (error) {
    await file.close().catch(() => undefined);
    await removeNew(folder, name);
    throw error;
  }
  await onStick(file.close());
  return { size, sha256: hash.digest("hex") };
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let done = 0; done < chunk.length;) done += (await file.write(chunk, done)).bytesWritten;
}

/** Removes what an attempt has left, which no reader would take for a kit. Best effort: the stick may be gone. */
export const removeNew = (folder: string, name: string): Promise<void> =>
  rm(join(folder, name), { force: true }).catch(() => undefined);
