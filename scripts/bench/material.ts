import { randomFillSync } from "node:crypto";
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { editInThreePlaces, editOneInHundred } from "./delta-edits.ts";

const MIB = 1024 * 1024;

/** A block that compresses to about half, as programs and data do: words and noise by turns. */
function block(bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  for (let at = 0; at < bytes;) {
    const noise = Math.min(4096, bytes - at);
    randomFillSync(buffer, at, noise);
    at += noise;
    const words = Math.min(4096, bytes - at);
    buffer.fill(`harbour ${at} berth ${at % 977} tide `, at, at + words);
    at += words;
  }
  return buffer;
}

/** One file of `mib` MiB, not sparse, no two MiB alike. */
export function largeFile(path: string, mib: number): void {
  const descriptor = openSync(path, "wx");
  try {
    for (let written = 0; written < mib; written++) writeSync(descriptor, block(MIB));
  } finally {
    closeSync(descriptor);
  }
}

/** `count` files, a hundred a folder: of 1 to 8 KiB, unless told. */
export function smallFiles(folder: string, count: number, bytesOf = (index: number) => 1024 + ((index * 37) % 7168)) {
  for (let index = 0; index < count; index++) {
    const parent = join(folder, `d${Math.floor(index / 100)}`);
    if (index % 100 === 0) mkdirSync(parent, { recursive: true });
    const descriptor = openSync(join(parent, `f${index}.txt`), "wx");
    writeSync(descriptor, block(bytesOf(index)));
    closeSync(descriptor);
  }
}

/** A project's source tree around one plugin, whose folder is given back. */
export async function projectTree(root: string, projectId: string): Promise<string> {
  const plugin = join(root, "plugins", "cargo");
  mkdirSync(plugin, { recursive: true });
  mkdirSync(join(root, "deployment"));
  await writeFile(join(plugin, "plugin.yaml"), "name: cargo\nversion: 1.0.0\n");
  await writeFile(
    join(root, "deployment", "install.yaml"),
    `format_version: "1"\nproject_id: ${projectId}\nversion: 1.0.0\nsteps:\n  - {id: install, action: install_plugin, plugin: cargo}\n`,
  );
  return plugin;
}

/** The content of a plugin that is published, and the edit that makes its next version. */
export interface Shape {
  what: string;
  /** Whether it is many files. */
  many: boolean;
  fill: (plugin: string) => void;
  edit: (plugin: string) => void;
  edited: string;
}

export const manyFiles = (count: number): Shape => ({
  what: `${count.toLocaleString("en")} files`,
  many: true,
  fill: (plugin) => smallFiles(plugin, count),
  edit: editOneInHundred,
  edited: "1 % edited",
});

export const oneFile = (mib: number): Shape => ({
  what: mib < 1024 ? `${mib} MiB in one file` : `${mib / 1024} GiB in one file`,
  many: false,
  fill: (plugin) => largeFile(join(plugin, "cargo.bin"), mib),
  edit: (plugin) => editInThreePlaces(join(plugin, "cargo.bin")),
  edited: "three edits",
});
