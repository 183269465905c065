import { createHash } from "node:crypto";
import type { Random } from "../fuzz/random.ts";
import { type Disk, type Inode, type Operation, overwritten, resized } from "./disk.ts";

/** Bytes that a disk writes atomically: a write may be cut at any multiple of it. */
const SECTOR = 512;

/**
 * Fates of the unsynced bytes of one file: all there, none, its size without its bytes (ext4 and xfs allocate late), or
 * the first half of the last write.
 */
const FATES = ["whole", "lost", "zeroed", "torn"] as const;
type Fate = (typeof FATES)[number];

/** State that a power cut may leave: which unsynced names are there, and which unsynced bytes. */
export interface State {
  /** Operations of the log that had happened. */
  point: number;
  /** Index of an unsynced operation on names → it is on the disk. */
  names: ReadonlySet<number>;
  fate: (inode: Inode) => Fate;
  /** Describes the state in words. */
  what: string;
}

/** Everything about one moment of a log that its states are made of. */
interface Moment {
  point: number;
  /** Whether each operation is certainly on the disk. */
  durable: readonly boolean[];
  /** Indices of operations on names that may be lost. */
  names: readonly number[];
  /** Files with bytes that may be lost. */
  files: readonly Inode[];
}

const changesOf = (operation: Operation | undefined) => (operation?.type === "names" ? operation.changes : []);
const inodeOf = (operation: Operation): Inode | undefined =>
  operation.type === "data" || operation.type === "size" ? operation.inode : undefined;

/** Yields every moment of a log: before its first operation, and after each one. */
function* momentsOf(log: readonly Operation[]): Generator<Moment> {
  const durable: boolean[] = [];
  for (let point = 0; ; point++) {
    const names: number[] = [];
    const files = new Set<Inode>();
    for (let index = 0; index < point; index++) {
      if (durable[index] === true) continue;
      const inode = inodeOf(log[index]!);
      if (inode !== undefined) files.add(inode);
      else if (log[index]!.type === "names") names.push(index);
    }
    yield { point, durable: [...durable], names, files: [...files] };
    const next = log[point];
    if (next === undefined) return;
    durable.push(false);
    if (next.type !== "sync" && next.type !== "barrier") continue;
    for (let index = 0; index < next.since; index++) {
      const operation = log[index]!;
      if (
        next.type === "barrier" ||
        inodeOf(operation) === next.inode ||
        changesOf(operation).some(({ folder }) => folder === next.inode)
      )
        durable[index] = true;
    }
  }
}

/**
 * Returns indices with all earlier ones among `pending` that they depend on: those that changed one of their names
 * before.
 */
function withNeeded(log: readonly Operation[], pending: readonly number[], wanted: ReadonlySet<number>): Set<number> {
  const taken = new Set(wanted);
  const keys = new Set<string>();
  for (const index of pending.toReversed()) {
    const own = changesOf(log[index]).map(({ folder, name }) => `${folder.id}/${name}`);
    if (!taken.has(index) && !own.some((key) => keys.has(key))) continue;
    taken.add(index);
    for (const key of own) keys.add(key);
  }
  return taken;
}

/** Returns indices without `dropped`, and without all later ones that need it. */
function without(log: readonly Operation[], pending: readonly number[], dropped: number): Set<number> {
  const left = new Set<number>();
  const keys = new Set<string>();
  for (const index of pending) {
    const own = changesOf(log[index]).map(({ folder, name }) => `${folder.id}/${name}`);
    if (index === dropped || own.some((key) => keys.has(key))) for (const key of own) keys.add(key);
    else left.add(index);
  }
  return left;
}

/**
 * Yields states that a file system may legally leave after a power cut, at every moment of a log: everything or nothing
 * of what is unsynced, each single operation there alone or missing alone, the bytes of each single file lost, zeroed
 * or torn, and some random ones.
 */
export function* statesOf({ log }: Disk, random: Random, samples = 2): Generator<State> {
  for (const { point, names, files } of momentsOf(log)) {
    const state = (what: string, taken: Iterable<number>, fate: Fate | ((inode: Inode) => Fate)): State => ({
      ...{ point, what, names: new Set(taken) },
      fate: typeof fate === "string" ? () => fate : fate,
    });
    yield state("all unsynced names and bytes are there", names, "whole");
    for (const fate of FATES.slice(1)) yield state(`names are there, bytes are ${fate}`, names, fate);
    yield state("nothing unsynced is there", [], "lost");
    for (const index of names) {
      const { what } = log[index]!;
      yield state(`only this is missing: ${what}`, without(log, names, index), "whole");
      const alone = withNeeded(log, names, new Set([index]));
      for (const fate of ["whole", "lost"] as const)
        yield state(`only this is there (bytes ${fate}): ${what}`, alone, fate);
    }
    for (const file of files)
      for (const fate of FATES.slice(1))
        yield state(`the bytes of one file (${file.id}) are ${fate}`, names, (inode) =>
          inode === file ? fate : "whole",
        );
    for (let sample = 0; sample < samples && names.length + files.length > 1; sample++) {
      const some = new Set(names.filter(() => random.once(2)));
      const fates = new Map(files.map((file) => [file, random.pick(FATES)]));
      yield state("some at random", withNeeded(log, names, some), (inode) => fates.get(inode) ?? "whole");
    }
  }
}

/** File, folder or link of a state. */
export type Leaf = { mode: number; mtimeMs: number } & (
  { kind: "file"; bytes: Buffer } | { kind: "link"; text: string } | { kind: "folder" }
);

/** Returns the files and folders of a disk in a state: paths below the root in an order in which they can be made. */
export function treeOf(
  { root, log }: Disk,
  { point, names, fate }: State,
  durable: readonly boolean[],
): Map<string, Leaf> {
  const folders = new Map<Inode, Map<string, Inode>>();
  const data = new Map<Inode, number[]>();
  const namesIn = (folder: Inode): Map<string, Inode> => {
    const found = folders.get(folder) ?? new Map(folder.baseNames);
    folders.set(folder, found);
    return found;
  };
  for (let index = 0; index < point; index++) {
    const operation = log[index]!;
    const inode = inodeOf(operation);
    if (inode !== undefined) data.set(inode, [...(data.get(inode) ?? []), index]);
    if (operation.type !== "names" || !(durable[index] === true || names.has(index))) continue;
    for (const change of operation.changes) {
      if (change.to === undefined) namesIn(change.folder).delete(change.name);
      else namesIn(change.folder).set(change.name, change.to);
    }
  }
  const tree = new Map<string, Leaf>();
  const walk = (folder: Inode, prefix: string): void => {
    for (const [name, inode] of namesIn(folder)) {
      const path = `${prefix}${name}`;
      const { kind, mode } = inode;
      if (kind === "file") {
        const writes = (data.get(inode) ?? []).map((index) => ({
          write: log[index]!,
          durable: durable[index] === true,
        }));
        tree.set(path, { kind, mode, ...bytesOf(inode, writes, fate(inode)) });
      } else if (kind === "link") tree.set(path, { kind, mode, mtimeMs: 0, text: inode.text });
      else {
        tree.set(path, { kind, mode, mtimeMs: 0 });
        walk(inode, `${path}/`);
      }
    }
  };
  walk(root, "");
  return tree;
}

function bytesOf(
  inode: Inode,
  writes: readonly { write: Operation; durable: boolean }[],
  fate: Fate,
): { bytes: Buffer; mtimeMs: number } {
  let { base: bytes, baseMtimeMs: mtimeMs } = inode;
  /**
   * Bytes below this already have their place on the disk: unsynced writes leave the old ones or the new ones, never
   * zeros.
   */
  let allocated = bytes.length;
  const last = writes.findLast(({ durable }) => !durable)?.write;
  for (const { write, durable } of writes) {
    if (!durable && fate === "lost") continue;
    if (write.type === "size") {
      bytes = resized(bytes, write.size);
      allocated = Math.min(allocated, write.size);
    } else if (write.type === "data") {
      const zeroed = !durable && fate === "zeroed";
      const isTorn = !durable && fate === "torn" && write === last;
      const written = write.bytes.subarray(0, isTorn ? halfOf(write.bytes.length) : undefined);
      if (zeroed) {
        const kept = bytes.subarray(write.at, Math.min(allocated, write.at + written.length));
        bytes = overwritten(
          bytes,
          write.at,
          overwritten(kept, kept.length, Buffer.alloc(written.length - kept.length)),
        );
      } else if (written.length > 0) bytes = overwritten(bytes, write.at, written);
      if (durable) allocated = Math.max(allocated, bytes.length);
    } else continue;
    mtimeMs = write.mtimeMs;
  }
  return { bytes, mtimeMs };
}

/**
 * Returns half of a write in whole sectors; of a small one, within one sector, half of its bytes: a page may be written
 * when it was half full.
 */
const halfOf = (length: number): number =>
  length > 2 * SECTOR ? Math.floor(length / 2 / SECTOR) * SECTOR : Math.floor(length / 2);

/** Returns per point of a log which operations are surely on the disk then. */
export const durableAt = (disk: Disk): (readonly boolean[])[] => [...momentsOf(disk.log)].map(({ durable }) => durable);

/** Returns a digest by which equal states are found. */
export function digestOf(tree: ReadonlyMap<string, Leaf>): string {
  const hash = createHash("sha256");
  for (const [path, leaf] of [...tree].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${path}\0${leaf.kind}\0`);
    if (leaf.kind === "file") hash.update(`${leaf.bytes.length}\0`).update(leaf.bytes);
    if (leaf.kind === "link") hash.update(leaf.text);
  }
  return hash.digest("hex");
}
