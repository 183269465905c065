import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

const CHUNK_BYTES = 256 * 1024;

/** Opens a path if a regular file is there; follows no link, and waits for no pipe. */
async function openRegular(path: string): Promise<FileHandle | undefined> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch(() => undefined);
  if (file === undefined || (await file.stat()).isFile()) return file;
  await file.close();
  return undefined;
}

/** Tells whether two paths are regular files with the same bytes. False also where one cannot be read. */
export async function sameBytes(path: string, other: string): Promise<boolean> {
  await using a = await openRegular(path);
  await using b = await openRegular(other);
  if (a === undefined || b === undefined || (await a.stat()).size !== (await b.stat()).size) return false;
  const [left, right] = [Buffer.allocUnsafe(CHUNK_BYTES), Buffer.allocUnsafe(CHUNK_BYTES)];
  for (let at = 0; ;) {
    const { bytesRead } = await a.read(left, 0, CHUNK_BYTES, at);
    if (bytesRead === 0) return true;
    const read = await b.read(right, 0, bytesRead, at);
    if (read.bytesRead !== bytesRead || left.compare(right, 0, bytesRead, 0, bytesRead) !== 0) return false;
    at += bytesRead;
  }
}
