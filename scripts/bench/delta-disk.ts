import { execFileSync } from "node:child_process";
import { randomFillSync } from "node:crypto";
import { mkdirSync, statfsSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectTree } from "./material.ts";
import { judged, type Row } from "./row.ts";
import { deployTo, openStage, publish } from "./stage.ts";

/** Size of the sparse image file, in bytes. */
const IMAGE_BYTES = 1024 ** 3;
const FILES = 1000;
const FILE_BYTES = 64 * 1024;
const VERSIONS = ["1.0.0", "1.1.0", "1.2.0"];

/** File system with reflinks in a file, which is unmounted with the scope. @throws Error where none can be mounted */
class LoopFileSystem implements Disposable {
  readonly folder: string;

  constructor(parent: string, type: string) {
    const image = join(parent, `${type}.image`);
    this.folder = join(parent, `${type}-mounted`);
    mkdirSync(this.folder, { recursive: true });
    writeFileSync(image, "");
    truncateSync(image, IMAGE_BYTES);
    run(`mkfs.${type}`, "-q", "-f", image);
    run("mount", "-o", "loop", image, this.folder);
  }

  /** Returns the bytes in use on it, once everything is on the disk. */
  used(): number {
    run("sync", "-f", this.folder);
    const { blocks, bfree, bsize } = statfsSync(this.folder);
    return (blocks - bfree) * bsize;
  }

  [Symbol.dispose](): void {
    run("umount", this.folder);
  }
}

function run(command: string, ...args: string[]): void {
  const env = { PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
  execFileSync(command, args, { stdio: ["ignore", "ignore", "pipe"], timeout: 120_000, env });
}

/**
 * Compares the disk space of three releases that differ by one per cent with that of one, on file systems with
 * reflinks.
 */
export async function deltaDiskRows(folder: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (const type of ["xfs", "btrfs"]) {
    try {
      using disk = new LoopFileSystem(join(folder, "disk"), type);
      rows.push(await diskRow(folder, type, disk));
    } catch (error) {
      const { message } = error as Error;
      if (!/^(?:Command failed: (?:mkfs|mount)|spawnSync mkfs)/.test(message)) throw error;
      console.error(`not measured: the disk of releases on ${type}: ${message.split("\n")[0]}`);
    }
  }
  return rows;
}

async function diskRow(folder: string, type: string, disk: LoopFileSystem): Promise<Row> {
  await using stage = await openStage(join(folder, "stage"));
  const source = join(stage.folder, "source");
  const plugin = await projectTree(source, stage.projectId);
  const write = (file: number): void =>
    writeFileSync(join(plugin, `f${file}.bin`), randomFillSync(Buffer.allocUnsafe(FILE_BYTES)));
  for (let file = 0; file < FILES; file++) write(file);
  const empty = disk.used();
  const used: number[] = [];
  for (const version of VERSIONS) {
    if (version !== VERSIONS[0]) for (let file = 0; file < FILES; file += 100) write(file);
    await publish(stage, source, version);
    await deployTo(stage, version, join(disk.folder, "host"));
    used.push(disk.used() - empty);
  }
  const [one, three] = [used[0]!, used.at(-1)!];
  const detail = `${(three / 1e6).toFixed(1)} MB against ${(one / 1e6).toFixed(1)} MB`;
  return judged("delta_disk", three / one, detail, type);
}
