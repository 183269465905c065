import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Returns the disk that a folder is on as the kernel numbers it, `MAJOR:MINOR`; undefined for file systems without a
 * disk of their own, such as those in memory, over a network, or over several disks.
 * @param devices the kernel's folder of block devices
 */
export function diskOf(folder: string, devices = "/sys/dev/block"): string | undefined {
  const device = BigInt(statSync(folder).dev);
  // The C library's layout of a device number: 12 and 20 bits, each in two parts (makedev(3)).
  const major = ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn);
  const minor = (device & 0xffn) | ((device >> 12n) & ~0xffn);
  const entry = join(devices, `${major}:${minor}`);
  if (!existsSync(entry)) return undefined;
  // Bounds are those of a whole disk, which has the folder of a partition in its own.
  const real = realpathSync(entry);
  const disk = existsSync(join(real, "partition")) ? dirname(real) : real;
  return readFileSync(join(disk, "dev"), "latin1").trim();
}
