import child_process, { type ChildProcess } from "node:child_process";
import fs, { type PathLike } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { type Call, type Watch, WatchedCalls } from "./calls.ts";
import { commonLength, Disk, type Inode } from "./disk.ts";

/* oxlint-disable typescript/no-unsafe-argument -- a hook takes every call as it comes */

const { lstatSync: lstat, readlinkSync: readlink, readFileSync: read } = fs;
const realpath = fs.realpathSync.native;

/**
 * Hook over `node:fs` (promises, callbacks, synchronous calls and file handles) and over the programs that sync and
 * exchange: everything that this thread does below one folder is logged in a {@link Disk}. One hook at a time.
 */
export class Hook implements Disposable {
  readonly disk: Disk;
  readonly #root: string;
  /** File descriptor → what is open there. */
  readonly #open = new Map<number, Inode>();
  readonly #calls = new WatchedCalls();
  #reading = false;

  /** @param root folder whose operations are logged */
  private constructor(root: string) {
    this.#root = realpath(root);
    this.disk = new Disk(this.#root);
  }

  /** Installs the hook until it is disposed of. */
  static async start(root: string): Promise<Hook> {
    const hook = new Hook(root);
    const handle = await fs.promises.open(root, "r");
    const prototype = Object.getPrototypeOf(handle) as Record<string, Call>;
    await handle.close();
    hook.#watchCalls(prototype);
    hook.#calls.publish();
    return hook;
  }

  [Symbol.dispose](): void {
    this.#calls[Symbol.dispose]();
  }

  #watchCalls(handles: Record<string, Call>): void {
    const byPath: Record<string, Watch> = {
      open: (path, flags) => this.#opening(path, flags),
      mkdir: (path) => this.#making(path),
      rename: (from, to) => this.#moving(from, to),
      link: (from, to) => this.#naming("link", to, () => this.#at(from)),
      symlink: (text, path) => this.#naming("symlink", path, () => this.disk.make("link", 0o777, String(text))),
      unlink: (path) => this.#removing("unlink", path),
      rmdir: (path) => this.#removing("rmdir", path),
      rm: (path) => this.#removing("rm", path),
      writeFile: (path) => this.#rewriting("writeFile", path),
      appendFile: (path) => this.#rewriting("appendFile", path),
      copyFile: (_from, to) => this.#rewriting("copyFile", to),
      truncate: (path) => this.#rewriting("truncate", path),
    };
    const byFd: Record<string, Watch> = {
      write: (fd) => this.#writing(fd),
      writev: (fd) => this.#writing(fd),
      fsync: (fd) => this.#syncing(fd),
      fdatasync: (fd) => this.#syncing(fd),
      ftruncate: (fd) => this.#writing(fd),
      close: (fd) => this.#closing(fd),
    };
    for (const [name, watch] of Object.entries(byPath)) {
      this.#calls.watch(fs.promises, name, watch, "promise");
      this.#calls.watch(fs, name, watch, "callback");
      this.#calls.watch(fs, `${name}Sync`, watch, "sync");
    }
    for (const [name, watch] of Object.entries(byFd)) {
      this.#calls.watch(fs, name, watch, "callback");
      this.#calls.watch(fs, `${name}Sync`, watch, "sync");
    }
    const { write } = byFd;
    const own = {
      write,
      writev: write,
      writeFile: write,
      appendFile: write,
      sync: byFd.fsync,
      datasync: byFd.fsync,
      truncate: write,
      close: byFd.close,
    };
    for (const [name, watch] of Object.entries(own))
      this.#calls.watch(handles, name, watch!, "promise", (handle: { fd: number }) => handle.fd);
    this.#calls.watch(child_process, "spawn", (program, args) => this.#spawning(program, args), "sync");
  }

  /**
   * Returns the names that lead from the root to a path, following every link above its end; undefined outside of the
   * root.
   */
  #parts(path: PathLike): string[] | undefined {
    const whole = resolve(String(path));
    let parent: string;
    try {
      parent = realpath(dirname(whole));
    } catch {
      return undefined;
    }
    const place = join(parent, basename(whole));
    if (place === this.#root) return [];
    return place.startsWith(`${this.#root}/`) ? place.slice(this.#root.length + 1).split("/") : undefined;
  }

  #at(path: PathLike): Inode | undefined {
    const parts = this.#parts(path);
    return parts && this.disk.find(parts);
  }

  /** Returns the folder and the name that a path means; undefined outside of the root. */
  #slot(path: PathLike): { folder: Inode; name: string; inode: Inode | undefined } | undefined {
    const parts = this.#parts(path);
    const name = parts?.at(-1);
    if (parts === undefined || name === undefined) return undefined;
    let folder = this.disk.find(parts.slice(0, -1));
    if (folder === undefined) {
      this.absorb();
      folder = this.disk.find(parts.slice(0, -1));
    }
    return folder && { folder, name, inode: folder.names.get(name) };
  }

  #what = (call: string, path: PathLike): string => `${call} ${this.#parts(path)?.join("/") ?? String(path)}`;

  #opening(path: PathLike, flags: unknown = "r"): ReturnType<Watch> {
    if (this.#reading) return undefined;
    const follows = !(typeof flags === "number" && (flags & fs.constants.O_NOFOLLOW) !== 0);
    const target = follows ? followed(path) : path;
    const isRoot = this.#parts(target)?.length === 0;
    const slot = this.#slot(target);
    const what = this.#what("open", target);
    return (result: number | { fd: number }) => {
      const fd = typeof result === "number" ? result : result.fd;
      this.#open.delete(fd);
      let inode = isRoot ? this.disk.root : slot?.folder.names.get(slot.name);
      if (inode === undefined && slot !== undefined) {
        inode = this.disk.make("file", fs.fstatSync(fd).mode & 0o7777);
        this.disk.rename(what, [{ folder: slot.folder, name: slot.name, to: inode }]);
      }
      if (inode === undefined) return;
      this.#open.set(fd, inode);
      if (inode.kind === "file") this.#reread(what, inode, `/proc/self/fd/${fd}`);
    };
  }

  #making(path: PathLike): ReturnType<Watch> {
    const wanted: string[] = [];
    const parts = this.#parts(path);
    const whole = parts === undefined ? resolve(String(path)) : join(this.#root, ...parts);
    for (let at = whole; this.#parts(at) === undefined || this.#at(at) === undefined; at = dirname(at)) {
      wanted.unshift(at);
      if (at === dirname(at)) return undefined;
    }
    if (wanted.length === 0) return undefined;
    return () => {
      for (const folder of wanted) {
        const slot = this.#slot(folder);
        if (slot === undefined || slot.inode !== undefined) continue;
        const to = this.disk.make("folder", lstat(folder).mode & 0o7777);
        this.disk.rename(this.#what("mkdir", folder), [{ folder: slot.folder, name: slot.name, to }]);
      }
    };
  }

  #moving(from: PathLike, to: PathLike): ReturnType<Watch> {
    const [source, target] = [this.#slot(from), this.#slot(to)];
    if (source === undefined && target === undefined) return undefined;
    if (source === undefined || target === undefined)
      throw new Error(`a rename across the root: ${String(from)}, ${String(to)}`);
    if (source.inode?.kind === "folder") this.absorb();
    const what = `${this.#what("rename", from)} ${this.#what("to", to)}`;
    return () => {
      const inode = source.folder.names.get(source.name);
      this.disk.rename(what, [
        { folder: source.folder, name: source.name, to: undefined },
        { folder: target.folder, name: target.name, to: inode },
      ]);
    };
  }

  #naming(call: string, path: PathLike, inode: () => Inode | undefined): ReturnType<Watch> {
    const slot = this.#slot(path);
    const what = this.#what(call, path);
    return slot && (() => this.disk.rename(what, [{ folder: slot.folder, name: slot.name, to: inode() }]));
  }

  #removing(call: string, path: PathLike): ReturnType<Watch> {
    const slot = this.#slot(path);
    if (slot?.inode === undefined) return undefined;
    const what = this.#what(call, path);
    return () => this.#remove(what, slot.folder, slot.name);
  }

  #remove(what: string, folder: Inode, name: string): void {
    const inode = folder.names.get(name);
    if (inode === undefined) return;
    for (const below of [...inode.names.keys()]) this.#remove(`${what}/${below}`, inode, below);
    this.disk.rename(what, [{ folder, name, to: undefined }]);
  }

  /** Watches a call of Node's that rewrites a whole file, by the bytes that it has afterwards. */
  #rewriting(call: string, path: PathLike | number): ReturnType<Watch> {
    if (typeof path === "number") return this.#writing(path);
    const slot = this.#slot(path);
    if (slot === undefined) return undefined;
    const what = this.#what(call, path);
    return () => {
      let inode = slot.folder.names.get(slot.name);
      if (inode === undefined) {
        inode = this.disk.make("file", lstat(path).mode & 0o7777);
        this.disk.rename(what, [{ folder: slot.folder, name: slot.name, to: inode }]);
      }
      this.#reread(what, inode, String(path));
    };
  }

  #writing(fd: number): ReturnType<Watch> {
    const inode = this.#open.get(fd);
    return inode && (() => this.#reread(`write to file ${inode.id}`, inode, `/proc/self/fd/${fd}`));
  }

  /** Logs the bytes that a call has changed: those that now differ. */
  #reread(what: string, inode: Inode, path: string): void {
    const { mtimeMs } = fs.statSync(path);
    // Node reads a file by opening it with the very function that is watched here.
    this.#reading = true;
    const bytes = read(path);
    this.#reading = false;
    if (bytes.length < inode.bytes.length) this.disk.resize(what, inode, bytes.length, mtimeMs);
    const at = commonLength(inode.bytes, bytes);
    if (at < bytes.length) this.disk.write(what, inode, at, bytes.subarray(at), mtimeMs);
  }

  #syncing(fd: number): ReturnType<Watch> {
    const inode = this.#open.get(fd);
    const since = this.disk.log.length;
    return inode && (() => this.disk.sync(`sync of ${inode.kind} ${inode.id}`, inode, since));
  }

  #closing(fd: number): undefined {
    this.#open.delete(fd);
  }

  /** Logs what other threads have made meanwhile: those that unpack archives. None of it counts as synced. */
  absorb(): void {
    const walk = (folder: Inode, path: string): void => {
      for (const entry of fs.readdirSync(path, { withFileTypes: true })) {
        const place = join(path, entry.name);
        let inode = folder.names.get(entry.name);
        if (inode === undefined) {
          const kind = entry.isDirectory() ? "folder" : entry.isSymbolicLink() ? "link" : "file";
          inode = this.disk.make(kind, lstat(place).mode & 0o7777, kind === "link" ? readlink(place) : "");
          this.disk.rename(this.#what("another thread makes", place), [{ folder, name: entry.name, to: inode }]);
        }
        if (inode.kind === "file") this.#reread("another thread writes", inode, place);
        if (inode.kind === "folder") walk(inode, place);
      }
    };
    walk(this.disk.root, this.#root);
  }

  /**
   * Watches the programs that do what Node has no call for: `sync -f`, and `mv --exchange` or perl, each by a shell.
   */
  #spawning(program: string, args: readonly string[]): ReturnType<Watch> {
    if (program === "sync") this.absorb();
    const since = this.disk.log.length;
    const onSuccess = (log: () => void) => (child: ChildProcess) => {
      child.prependOnceListener("close", (code) => {
        if (code === 0) log();
      });
    };
    if (program === "sync" && args.includes("-f")) return onSuccess(() => this.disk.barrier("sync -f", since));
    if (program !== "sh" || !(args.includes("perl") || args.includes("--exchange"))) return undefined;
    const [a, b] = args.slice(-2).map((path) => this.#slot(path));
    return onSuccess(() => {
      if (a === undefined || b === undefined) return;
      const [first, second] = [a.folder.names.get(a.name), b.folder.names.get(b.name)];
      this.disk.rename(`exchange ${a.name} and ${b.name}`, [
        { folder: a.folder, name: a.name, to: second },
        { folder: b.folder, name: b.name, to: first },
      ]);
    });
  }
}

/** Follows every link of an existing path. */
function followed(path: PathLike): PathLike {
  try {
    return realpath(String(path));
  } catch {
    return path;
  }
}
