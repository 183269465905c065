import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** File, folder or link of the traced root, whatever names it has: a rename only changes its folder. */
export interface Inode {
  id: number;
  kind: "file" | "folder" | "link";
  mode: number;
  /** Text of a link, which comes with its name. */
  text: string;
  /** Bytes on the disk before the trace began. */
  base: Buffer;
  /** Bytes as the traced program sees them. */
  bytes: Buffer;
  /** Names in a folder as the traced program sees them. */
  names: Map<string, Inode>;
  /** Names in a folder before the trace began. */
  baseNames: ReadonlyMap<string, Inode>;
  /** Modification time before the trace began, in milliseconds since 1970, as `lstat` returns it. */
  baseMtimeMs: number;
}

/** Name in one folder, before and after. */
export interface NameChange {
  folder: Inode;
  name: string;
  to: Inode | undefined;
}

/** Step of the traced program that changes the disk, or waits for it. */
export type Operation = { what: string } & (
  | { type: "names"; changes: readonly NameChange[] }
  | { type: "data"; inode: Inode; at: number; bytes: Buffer; mtimeMs: number }
  | { type: "size"; inode: Inode; size: number; mtimeMs: number }
  /** Operations before `since` on this file, or on names of this folder, are on the disk. */
  | { type: "sync"; inode: Inode; since: number }
  /** Everything before `since` is on the disk. */
  | { type: "barrier"; since: number }
  /** The program has promised something to a caller, which must be true after every later power cut. */
  | { type: "mark" }
);

/**
 * File system as a program sees it, with a log of what the program did, from which the states after a power cut are
 * built.
 */
export class Disk {
  readonly root: Inode;
  readonly log: Operation[] = [];
  #count = 0;

  /** @param path folder that is read as it is; everything in it counts as durable */
  constructor(path: string) {
    this.root = this.#read(path);
  }

  #read(path: string): Inode {
    const stats = lstatSync(path);
    const kind = stats.isDirectory() ? "folder" : stats.isSymbolicLink() ? "link" : "file";
    const inode = this.make(kind, stats.mode & 0o7777, kind === "link" ? readlinkSync(path) : "");
    inode.baseMtimeMs = stats.mtimeMs;
    if (kind === "file") inode.base = inode.bytes = readFileSync(path);
    if (kind === "folder")
      inode.baseNames = new Map(readdirSync(path).map((name) => [name, this.#read(join(path, name))]));
    inode.names = new Map(inode.baseNames);
    return inode;
  }

  /** Makes a file, folder or link that has no name yet. */
  make(kind: Inode["kind"], mode: number, text = ""): Inode {
    const nothing = Buffer.alloc(0);
    const id = this.#count++;
    return {
      id,
      kind,
      mode,
      text,
      base: nothing,
      bytes: nothing,
      names: new Map(),
      baseNames: new Map(),
      baseMtimeMs: 0,
    };
  }

  /** Returns the file, folder or link at a path of names, or `undefined`. Links are not followed. */
  find(parts: readonly string[]): Inode | undefined {
    let at: Inode | undefined = this.root;
    for (const part of parts) at = at?.names.get(part);
    return at;
  }

  /** Logs names that change together, all of them or none. */
  rename(what: string, changes: readonly NameChange[]): void {
    for (const { folder, name, to } of changes) {
      if (to === undefined) folder.names.delete(name);
      else folder.names.set(name, to);
    }
    this.log.push({ type: "names", what, changes });
  }

  /** Logs bytes that were written. */
  write(what: string, inode: Inode, at: number, bytes: Buffer, mtimeMs: number): void {
    inode.bytes = overwritten(inode.bytes, at, bytes);
    this.log.push({ type: "data", what, inode, at, bytes: Buffer.from(bytes), mtimeMs });
  }

  /** Logs a file that was shortened or extended. */
  resize(what: string, inode: Inode, size: number, mtimeMs: number): void {
    if (inode.bytes.length === size) return;
    inode.bytes = resized(inode.bytes, size);
    this.log.push({ type: "size", what, inode, size, mtimeMs });
  }

  sync(what: string, inode: Inode, since: number): void {
    this.log.push({ type: "sync", what, inode, since });
  }

  barrier(what: string, since: number): void {
    this.log.push({ type: "barrier", what, since });
  }

  mark(what: string): void {
    this.log.push({ type: "mark", what });
  }
}

/** Returns bytes with others written over them; a gap is filled with zeros. */
export function overwritten(bytes: Buffer, at: number, others: Buffer): Buffer {
  const result = resized(bytes, Math.max(bytes.length, at + others.length));
  others.copy(result, at);
  return result;
}

/** Returns the length of the common prefix. */
export function commonLength(a: Buffer, b: Buffer): number {
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a[at] === b[at]) at++;
  return at;
}

/** Returns a copy of a length: cut, or filled with zeros. */
export function resized(bytes: Buffer, size: number): Buffer {
  const result = Buffer.alloc(size);
  bytes.copy(result);
  return result;
}

/**
 * Compares the disk of a trace with the real folder, which reveals operations that were not traced.
 *
 * @returns paths that differ
 */
export function differences(disk: Disk, path: string): string[] {
  const found: string[] = [];
  const compare = (inode: Inode, at: string): void => {
    if (inode.kind === "link" && readlinkSync(at) !== inode.text) found.push(at);
    if (inode.kind === "file" && !readFileSync(at).equals(inode.bytes)) found.push(at);
    if (inode.kind !== "folder") return;
    const real = new Set(readdirSync(at));
    for (const [name, child] of inode.names) {
      if (real.delete(name)) compare(child, join(at, name));
      else found.push(join(at, name));
    }
    for (const name of real) found.push(join(at, name));
  };
  compare(disk.root, path);
  return found;
}
