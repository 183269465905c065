import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Writes trees of packages as package managers leave them. */

/** Content of a file, or the target of a link. */
export type Planted = string | Buffer | { link: string };

/** Writes files and links below a folder. */
export function plant(folder: string, files: Readonly<Record<string, Planted>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    if (typeof content === "string" || Buffer.isBuffer(content)) writeFileSync(join(folder, path), content);
    else symlinkSync(content.link, join(folder, path));
  }
}

/** A `package.json`. */
export const described = (version: string, facts: object = {}): string => JSON.stringify({ version, ...facts });

/** A lock file of npm. */
export const lockOf = (packages: object, lockfileVersion = 3): string => JSON.stringify({ lockfileVersion, packages });

/** Start of a native addon for Linux: an ELF header. */
export function elf(machine: number): Buffer {
  const header = Buffer.alloc(64);
  header.write("\x7fELF\x02\x01\x01", "latin1");
  header.writeUInt16LE(machine, 18);
  return header;
}

/** Numbers of processors in ELF. */
export const [ELF_X64, ELF_ARM64] = [0x3e, 0xb7];
