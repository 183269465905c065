import { randomFillSync } from "node:crypto";
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { editInThreePlaces, editOneInHundred } from "./delta-edits.ts";

const MIB = 1024 * 1024;

/** Makes a block that compresses to about half, like programs and data: words and noise in turn. */
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

/** Writes one file of `mib` MiB, not sparse, no two MiB alike. */
export function largeFile(path: string, mib: number): void {
  const descriptor = openSync(path, "wx");
  try {
    for (let written = 0; written < mib; written++) writeSync(descriptor, block(MIB));
  } finally {
    closeSync(descriptor);
  }
}

/** Writes `count` files, a hundred per folder; of 1 to 8 KiB by default. */
export function smallFiles(folder: string, count: number, bytesOf = (index: number) => 1024 + ((index * 37) % 7168)) {
  for (let index = 0; index < count; index++) {
    const parent = join(folder, `d${Math.floor(index / 100)}`);
    if (index % 100 === 0) mkdirSync(parent, { recursive: true });
    const descriptor = openSync(join(parent, `f${index}.txt`), "wx");
    writeSync(descriptor, block(bytesOf(index)));
    closeSync(descriptor);
  }
}

/** Writes a project's source tree around one plugin. @returns the plugin's folder */
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

/** Content of a published plugin, and the edit that makes its next version. */
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
