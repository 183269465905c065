import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { artifactError, type SealiftError } from "../../contract/errors.ts";
import { KIT_BYTES_FILE, KIT_FILE, KIT_REPORTS_FOLDER, MAX_KIT_BYTES } from "../../contract/kits/limits.ts";
import { readFault, syncFolder } from "../../support/files.ts";
import { isHubsWord, type ReadKit, readKitText } from "../sealed/kit.ts";

/** Largest piece that is read at once, in bytes. */
const PIECE_BYTES = 256 * 1024;

/** A kit on a stick, of which `kit.json` was read. */
export interface KitFolder {
  folder: string;
  text: ReadKit;
  /** Size of `artifact.bin`, in bytes. */
  size: number;
  /**
   * Streams `artifact.bin`, and compares it with the digest of the kit.
   *
   * @throws ArtifactError `kit_changed`; `kit_unreadable` for a stick that was pulled out
   */
  bytes(): AsyncGenerator<Buffer>;
}

/** Returns the error of a kit whose files cannot be read. */
export const unreadableKit = (why: string, cause?: unknown): SealiftError =>
  artifactError("kit_unreadable", `The kit cannot be read: ${why}.`, {
    ...(cause !== undefined && { cause }),
    hint: "Nothing was changed. Is the stick there? A kit is a folder with kit.json and artifact.bin.",
  });

/**
 * Returns the entries of a folder with a name, whose case does not count: FAT may give it in other letters.
 *
 * @throws ArtifactError `kit_unreadable` for a folder that cannot be read
 */
export async function entriesCalled(folder: string, name: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw unreadableKit(`${folder}: ${readFault(error)}`, error);
  });
  return names.filter((each) => each.toLowerCase() === name);
}

/**
 * Returns the entry of a folder with a name, as {@link entriesCalled}.
 *
 * @returns undefined for none
 * @throws ArtifactError `kit_unreadable`, also for several of them: nothing says which one counts
 */
export async function entryCalled(folder: string, name: string): Promise<string | undefined> {
  const [found, ...others] = await entriesCalled(folder, name);
  if (others.length === 0) return found;
  throw artifactError(
    "kit_unreadable",
    `The kit cannot be read: ${folder} has both ${found} and ${others.join(", ")}.`,
    {
      hint: "Nothing was changed. FAT takes these names for one: find out which one counts, and remove the other.",
    },
  );
}

/** File of a stick, open to be read. How its close went says nothing, and would hide why it could not be read. */
interface OpenFile extends AsyncDisposable {
  file: FileHandle;
  /** Size in bytes when it was opened. */
  size: number;
}

/**
 * Opens a regular file. A link is not followed, and a device or pipe is not waited for.
 *
 * @throws ArtifactError `kit_unreadable`
 */
async function openRegular(path: string): Promise<OpenFile> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    throw unreadableKit(`${path}: ${code === "ELOOP" ? "it is a link" : readFault(error)}`, error);
  });
  const close = (): Promise<void> => file.close().catch(() => undefined);
  const stats = await file.stat().catch(async (error: unknown) => {
    await close();
    throw unreadableKit(`${path}: ${readFault(error)}`, error);
  });
  if (stats.isFile()) return { file, size: stats.size, [Symbol.asyncDispose]: close };
  await close();
  throw unreadableKit(`${path} is not a regular file`);
}

/** Reads a regular file of at most so many bytes. @throws ArtifactError `kit_unreadable` */
export async function readRegular(path: string, maxBytes: number): Promise<string> {
  await using opened = await openRegular(path);
  const { file, size } = opened;
  const bytes = Buffer.allocUnsafe(Math.min(size, maxBytes) + 1);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length).catch((error: unknown) => {
      throw unreadableKit(`${path}: ${readFault(error)}`, error);
    });
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  if (length > maxBytes) throw unreadableKit(`${path} has more than ${maxBytes} bytes`);
  if (length === bytes.length) throw unreadableKit(`${path} grew while it was read`);
  const text = bytes.subarray(0, length);
  if (!Buffer.from(text.toString("utf8")).equals(text)) throw unreadableKit(`${path} is not UTF-8`);
  return text.toString("utf8");
}

/** Answers of file systems that know no sync of a folder, as some that users mount: their sync of a file is enough. */
const NO_FOLDER_SYNC = new Set(["EINVAL", "ENOSYS", "ENOTSUP", "EPERM"]);

/** Makes the names in folders of a stick durable: people pull it out as soon as a command says that it is done. */
export async function syncStick(...folders: readonly string[]): Promise<void> {
  for (const folder of folders)
    await syncFolder(folder).catch((error: NodeJS.ErrnoException) => {
      if (!NO_FOLDER_SYNC.has(error.code ?? "")) throw error;
    });
}

/** Opens a kit. Anything more in its folder is ignored. @throws ArtifactError `kit_unreadable` */
export async function openKitFolder(folder: string): Promise<KitFolder> {
  const pathOf = async (name: string): Promise<string> => {
    const entry = await entryCalled(folder, name);
    if (entry === undefined) throw await noSuchEntry(folder, name);
    return join(folder, entry);
  };
  const text = readKitText(await readRegular(await pathOf(KIT_FILE), MAX_KIT_BYTES));
  const path = await pathOf(KIT_BYTES_FILE);
  await using opened = await openRegular(path);
  return { folder, text, size: opened.size, bytes: () => kitBytes(path, text.digest) };
}

/** Returns the error of a folder without a file or folder of a kit. It names a kit in it, or the one that it is of. */
export async function noSuchEntry(folder: string, name: string): Promise<SealiftError> {
  const isKit = async (path: string): Promise<boolean> =>
    (await entriesCalled(path, KIT_FILE).catch(() => [])).length > 0;
  if (name === KIT_REPORTS_FOLDER && (await isKit(folder)))
    return artifactError("kit_unreadable", `${folder} has no folder ${name}: no host has reported on this stick yet.`, {
      hint: "`sealift kit collect` on a host writes its reports to the stick.",
    });
  const [near] = name === KIT_BYTES_FILE ? [] : await kitsWithin(folder);
  const kit = near ?? ((await isKit(dirname(folder))) ? dirname(folder) : undefined);
  if (kit === undefined) return unreadableKit(`${folder} has no ${name}`);
  return artifactError("kit_unreadable", `The kit cannot be read: ${folder} has no ${name}.`, {
    hint: `Nothing was changed. Name the folder of one kit, such as ${kit}.`,
  });
}

/** Lists the kits in the folders of a folder. A folder that cannot be read has none. */
async function kitsWithin(folder: string): Promise<string[]> {
  const folders = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const kits: string[] = [];
  for (const entry of folders.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!entry.isDirectory()) continue;
    const path = join(folder, entry.name);
    if ((await entriesCalled(path, KIT_FILE).catch(() => [])).length > 0) kits.push(path);
  }
  return kits;
}

async function* kitBytes(path: string, digest: string): AsyncGenerator<Buffer> {
  await using opened = await openRegular(path);
  const { file } = opened;
  const hash = createHash("sha256");
  const stream = file.createReadStream({ start: 0, highWaterMark: PIECE_BYTES, autoClose: false });
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      hash.update(chunk);
      yield chunk;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== "read") throw error;
    throw unreadableKit(`${path}: ${readFault(error)}`, error);
  }
  if (hash.digest("hex") !== digest)
    throw changedKit(`${KIT_BYTES_FILE} is not the file of which kit.json has the digest`);
}

/** Requires that the key which a kit names as its hub's has signed what it says. @throws ArtifactError `kit_changed` */
export function requireHubsWord(kit: ReadKit): void {
  if (!isHubsWord(kit)) throw changedKit("the hub's signature is not one of what kit.json says");
}

/** Returns the error of a kit whose files do not belong together. */
export const changedKit = (why: string, cause?: unknown): SealiftError =>
  artifactError("kit_changed", `The kit was changed: ${why}.`, {
    ...(cause !== undefined && { cause }),
    hint: "Nothing was installed. Copy the kit again, or have another one made with `sealift kit make`; if that is refused, too, ask its publisher.",
  });
