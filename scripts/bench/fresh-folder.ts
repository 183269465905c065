import { rmSync } from "node:fs";
import { join } from "node:path";

let made = 0;

/**
 * Returns the path of a folder that is not there, for one run. ext4 passes over inodes that were deleted in the last
 * minutes, one by one: after folders of many files have gone, each new file takes a millisecond. So they stay until
 * their stage goes, while a folder of large files is removed for the next one.
 *
 * @param many whether a run leaves many files in it
 */
export function freshFolder(parent: string, name: string, many: boolean): string {
  const path = join(parent, many ? `${name}-${made++}` : name);
  rmSync(path, { recursive: true, force: true });
  return path;
}
