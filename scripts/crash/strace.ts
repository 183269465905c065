import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import type { Disk, Inode } from "./disk.ts";

/** System calls that change a folder or wait for its disk; `strace -e trace=`. */
const CALLS =
  "openat,write,writev,pwrite64,pwritev,ftruncate,fallocate,copy_file_range,sendfile,rename,renameat,renameat2,link,linkat," +
  "symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir,fsync,fdatasync,syncfs";

/** True where strace can be run. */
export const hasStrace = (): boolean => spawnSync("strace", ["-V"], { stdio: "ignore" }).status === 0;

/** Returns options of strace for a log that {@link readStrace} understands. @param file of the log */
export const straceOptions = (file: string): string[] => [
  ...["-f", "-y", "-xx", "-s", "100000000", "--seccomp-bpf", "-o", file, "-e", `trace=${CALLS}`, "-e", "signal=none"],
];

const decoded = (text: string): Buffer => Buffer.from(text.replaceAll("\\x", ""), "hex");

/** Finished call: its name, its arguments as strace writes them, and its result. */
interface Traced {
  call: string;
  args: string;
  result: string;
  /** Operations in the log before it was begun. */
  since: number;
}

export interface StraceOptions {
  /** Folder whose operations are logged. */
  root: string;
  /** Returns a mark for bytes sent to a socket, if they tell somebody something. */
  markOf?: (bytes: Buffer) => string | undefined;
  /** False for a disk that syncs nothing, whatever it says. Default true. */
  syncs?: boolean;
}

/**
 * Logs what strace has seen of a program and its children: all threads, and SQLite's own writes too.
 *
 * @throws Error for a call on the root that it does not understand
 */
export function readStrace(
  disk: Disk,
  text: string,
  { root, markOf = () => undefined, syncs = true }: StraceOptions,
): void {
  const reader = new Reader(disk, root, markOf, syncs);
  const begun = new Map<string, Pick<Traced, "call" | "args" | "since">>();
  for (const line of text.split("\n")) {
    const [, thread, rest] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (thread === undefined || rest === undefined) continue;
    const unfinished = /^(\w+)\((.*) <unfinished \.\.\.>$/.exec(rest);
    if (unfinished !== null) {
      begun.set(thread, { call: unfinished[1]!, args: unfinished[2]!, since: disk.log.length });
      continue;
    }
    const resumed = /^<\.\.\. (\w+) resumed>(.*)\) += (.*)$/.exec(rest);
    const whole = resumed === null ? /^(\w+)\((.*)\) += (.*)$/.exec(rest) : null;
    const start = begun.get(thread);
    if (resumed !== null && start !== undefined && start.call === resumed[1]) {
      reader.take({ ...start, args: start.args + resumed[2]!, result: resumed[3]! });
      begun.delete(thread);
    } else if (whole !== null)
      reader.take({ call: whole[1]!, args: whole[2]!, result: whole[3]!, since: disk.log.length });
  }
}

class Reader {
  readonly #disk: Disk;
  readonly #root: string;
  readonly #markOf: (bytes: Buffer) => string | undefined;
  /** File descriptor → where its next write goes. */
  readonly #positions = new Map<number, number>();
  readonly #paths = new Map<number, string>();
  readonly #syncs: boolean;

  constructor(disk: Disk, root: string, markOf: (bytes: Buffer) => string | undefined, syncs: boolean) {
    this.#syncs = syncs;
    this.#disk = disk;
    this.#root = root;
    this.#markOf = markOf;
  }

  take({ call, args, result, since }: Traced): void {
    if (result.startsWith("-1")) return;
    const texts = [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map((match) => decoded(match[1]!));
    const paths = texts.map((bytes) => this.#path(bytes.toString()));
    switch (call) {
      case "openat":
        return this.#open(paths[0]!, args, result);
      case "write":
      case "writev":
      case "pwrite64":
      case "pwritev":
        return this.#write(call, args, Buffer.concat(texts), Number.parseInt(result, 10));
      case "ftruncate":
        return this.#resize(args);
      case "rename":
      case "renameat":
      case "renameat2":
        return this.#rename(paths[0]!, paths[1]!, args.includes("RENAME_EXCHANGE"));
      case "link":
      case "linkat":
        return this.#name(`link ${paths[1]}`, paths[1]!, () => this.#find(paths[0]!));
      case "symlink":
      case "symlinkat":
        return this.#name(`symlink ${paths[1]}`, paths[1]!, () => this.#disk.make("link", 0o777, texts[0]!.toString()));
      case "mkdir":
      case "mkdirat":
        return this.#name(`mkdir ${paths[0]}`, paths[0]!, () =>
          this.#disk.make("folder", Number.parseInt(/, (0\d*)$/.exec(args)?.[1] ?? "0777", 8)),
        );
      case "unlink":
      case "unlinkat":
      case "rmdir":
        return this.#name(`${call} ${paths[0]}`, paths[0]!, () => undefined);
      case "fsync":
      case "fdatasync":
      case "syncfs":
        return this.#sync(call, args, since);
      default:
        if (this.#opened(args) !== undefined) throw new Error(`strace: ${call} is not understood`);
    }
  }

  /** Returns a path as the program meant it; names below `/proc/self/fd` lead through what is open there. */
  #path(path: string): string {
    const [, fd, rest = ""] = /^\/proc\/self\/fd\/(\d+)(\/.*)?$/.exec(path) ?? [];
    return resolve(fd === undefined ? path : `${this.#paths.get(Number(fd))}${rest}`);
  }

  #parts(path: string): string[] | undefined {
    if (path === this.#root) return [];
    return path.startsWith(`${this.#root}/`) ? path.slice(this.#root.length + 1).split("/") : undefined;
  }

  #find(path: string): Inode | undefined {
    const parts = this.#parts(path);
    return parts && this.#disk.find(parts);
  }

  /** Returns the file or folder that the first argument has open: `21</path>`. */
  #opened(args: string): { fd: number; path: string; inode: Inode } | undefined {
    const [, fd, hex] = /^(\d+)<((?:\\x[0-9a-f]{2})+)>/.exec(args) ?? [];
    if (fd === undefined || hex === undefined) return undefined;
    const path = decoded(hex).toString();
    const inode = this.#find(path);
    return inode && { fd: Number(fd), path, inode };
  }

  #open(path: string, args: string, result: string): void {
    const [, fd, hex] = /^(\d+)<((?:\\x[0-9a-f]{2})+)>/.exec(result) ?? [];
    if (fd === undefined || hex === undefined) return;
    this.#paths.set(Number(fd), decoded(hex).toString());
    const parts = this.#parts(path);
    if (parts === undefined) return;
    if (args.includes("O_CREAT") && this.#find(path) === undefined) {
      const mode = Number.parseInt(/, (0\d+)$/.exec(args)?.[1] ?? "0644", 8);
      this.#name(`open ${path}`, path, () => this.#disk.make("file", mode));
    }
    const inode = this.#find(path);
    if (args.includes("O_TRUNC") && inode !== undefined) this.#disk.resize(`open ${path}`, inode, 0, 0);
    this.#positions.set(Number(fd), args.includes("O_APPEND") ? Number.NaN : 0);
  }

  #write(call: string, args: string, bytes: Buffer, count: number): void {
    const opened = this.#opened(args);
    if (opened === undefined) {
      const mark = this.#markOf(bytes);
      if (mark !== undefined) this.#disk.mark(mark);
      return;
    }
    const { fd, path, inode } = opened;
    const own = this.#positions.get(fd) ?? 0;
    const next = Number.isNaN(own) ? inode.bytes.length : own;
    const at = call.startsWith("p") ? Number(/, (\d+)$/.exec(args)![1]) : next;
    if (!call.startsWith("p") && !Number.isNaN(own)) this.#positions.set(fd, at + count);
    this.#disk.write(`write ${path}`, inode, at, bytes.subarray(0, count), Date.now());
  }

  #resize(args: string): void {
    const opened = this.#opened(args);
    // Sizes of shared memory are written as they are; others in decimal, too.
    if (opened !== undefined)
      this.#disk.resize(`truncate ${opened.path}`, opened.inode, Number(/, (\w+)$/.exec(args)![1]), Date.now());
  }

  #slot(path: string): { folder: Inode; name: string } | undefined {
    const parts = this.#parts(path);
    const folder = parts && this.#disk.find(parts.slice(0, -1));
    return folder && parts.length > 0 ? { folder, name: parts.at(-1)! } : undefined;
  }

  #name(what: string, path: string, make: () => Inode | undefined): void {
    const slot = this.#slot(path);
    if (slot !== undefined) this.#disk.rename(what, [{ ...slot, to: make() }]);
  }

  #rename(from: string, to: string, exchanges: boolean): void {
    const [source, target] = [this.#slot(from), this.#slot(to)];
    if (source === undefined || target === undefined) return;
    const [first, second] = [this.#find(from), this.#find(to)];
    this.#disk.rename(`rename ${from} to ${to}`, [
      { ...source, to: exchanges ? second : undefined },
      { ...target, to: first },
    ]);
  }

  #sync(call: string, args: string, since: number): void {
    const opened = this.#opened(args);
    if (opened === undefined || !this.#syncs) return;
    if (call === "syncfs") this.#disk.barrier(`syncfs ${opened.path}`, since);
    else this.#disk.sync(`${call} ${opened.path}`, opened.inode, since);
  }
}
