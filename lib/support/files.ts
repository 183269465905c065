import { randomBytes } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Makes the entries of a folder durable: a rename is on disk only after its folder was synced. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
}

/**
 * Replaces `path` as a whole: temporary file beside it, fsync, rename, fsync of the folder. A crash leaves the old or the new
 * content. `mode` is exact, whatever the umask.
 */
export async function writeFileAtomic(path: string, data: string | Uint8Array, { mode = 0o644 } = {}): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);
  try {
    {
      await using file = await open(temporary, "wx", mode);
      await file.chmod(mode);
      await file.writeFile(data);
      await file.sync();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}
