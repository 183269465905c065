import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import type { PackageTree } from "./package-tree.ts";

/** Tells for which platforms native addons were built, by the headers of their files. */

/** Platform of this machine, in the words of Node.js: `linux-x64`. */
export const THIS_PLATFORM = `${process.platform}-${process.arch}`;

/** Architectures by the numbers of ELF, Mach-O and PE. */
const ELF: Readonly<Record<number, string>> = {
  0x03: "ia32",
  0x15: "ppc64",
  0x16: "s390x",
  0x28: "arm",
  0x3e: "x64",
  0xb7: "arm64",
  0xf3: "riscv64",
  0x102: "loong64",
};
const MACH_O: Readonly<Record<number, string>> = { 0x01000007: "x64", 0x0100000c: "arm64" };
const PE: Readonly<Record<number, string>> = { 0x14c: "ia32", 0x8664: "x64", 0xaa64: "arm64" };

/** Bytes of a file that hold all headers that are read. */
const HEADER_BYTES = 4096;
/** Bytes of an architecture's entry in a Mach-O file for several, and the most that are read. */
const FAT_ENTRY_BYTES = 20;
const MAX_FAT = 16;

/** Returns the platforms that a native addon was built for; none for a file of another kind. */
export function platformsOf(header: Buffer): string[] {
  if (header.length < 64) return [];
  const magic = header.readUInt32BE(0);
  if (magic === 0x7f454c46) {
    const machine = header[5] === 2 ? header.readUInt16BE(18) : header.readUInt16LE(18);
    return [`linux-${ELF[machine] ?? "other"}`];
  }
  if (magic === 0xcffaedfe) return [`darwin-${MACH_O[header.readUInt32LE(4)] ?? "other"}`];
  if (magic === 0xcafebabe) {
    const count = Math.min(header.readUInt32BE(4), MAX_FAT);
    const types = Array.from({ length: count }, (_, index) => header.readUInt32BE(8 + index * FAT_ENTRY_BYTES));
    return types.map((type) => `darwin-${MACH_O[type] ?? "other"}`);
  }
  if (header.readUInt16BE(0) !== 0x4d5a) return [];
  const at = header.readUInt32LE(0x3c);
  if (at + 6 > header.length || header.readUInt32BE(at) !== 0x50450000) return [];
  return [`win32-${PE[header.readUInt16LE(at + 4)] ?? "other"}`];
}

/** Packages whose native addons all are for other platforms. */
export interface ForeignAddons {
  /** Folder of the package, or the path of an addon outside of packages. */
  path: string;
  /** Platforms that its addons were built for. */
  platforms: string[];
}

/**
 * Finds packages that bring native addons, but none for a platform. Those that bring addons for many are fine with one
 * that fits.
 *
 * @param platform in the words of Node.js, such as `linux-arm64`
 */
export function foreignAddons(
  { root, addons }: { root: string; addons: readonly string[] },
  packages: PackageTree | undefined,
  platform: string,
): ForeignAddons[] {
  const built = new Map<string, Set<string>>();
  for (const addon of addons) {
    const owner = packages?.packageOf(addon) ?? addon;
    const platforms = built.get(owner) ?? new Set();
    for (const found of platformsOf(headerOf(join(root, addon)))) platforms.add(found);
    built.set(owner, platforms);
  }
  return [...built]
    .filter(([, platforms]) => platforms.size > 0 && !platforms.has(platform))
    .map(([path, platforms]) => ({ path, platforms: [...platforms].toSorted() }));
}

function headerOf(file: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  const descriptor = openSync(file, "r");
  try {
    return header.subarray(0, readSync(descriptor, header));
  } finally {
    closeSync(descriptor);
  }
}

/** Describes an addon that does not fit, with what to do. */
export function addonNote({ path, platforms }: ForeignAddons, platform: string): string {
  const [os = "", cpu = ""] = platform.split("-");
  return (
    `${path} has native addons for ${platforms.join(", ")}, and none for ${platform}: install on such a machine, or ` +
    `with \`npm ci --omit=dev --os=${os} --cpu=${cpu}\`.`
  );
}
