import {
  closeSync,
  existsSync,
  fchmodSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEVICES, LOADER_CACHE, nameService, nodeFile, sharedLibraries, TIME_ZONE } from "./host-files.ts";
import { FAMILY, seccompFilter } from "./seccomp.ts";
import { type Enclosed, FILTER_FD, type ProcessView, type Program, type Wall } from "./wall.ts";

/**
 * Landlock: kernel rules about the files of one process, made by setpriv without any privilege or namespaces. A filter
 * of system calls covers what Landlock does not.
 */

export interface LandlockOptions {
  /** Absolute path of `setpriv`. */
  file: string;
  version: string;
  /** Whether the sandbox shares the user of a runtime that is root: then its powers are dropped here. */
  dropPowers: boolean;
}

/**
 * Option that keeps Node.js from reading an OpenSSL configuration: an unreadable one would end it at its start. Other
 * walls hide the file.
 */
const NO_OPENSSL_FILE = "--openssl-config=/dev/null";

const READ = "read-file,read-dir";
/** Rights to write, without links, sockets, pipes and devices. */
const WRITE = `${READ},write-file,truncate,remove-file,remove-dir,make-reg,make-dir,refer`;

const allow = (rights: string, path: string): string[] => ["--landlock-rule", `path-beneath:${rights}:${path}`];
const allowRead = (path: string): string[] => {
  if (!existsSync(path)) return [];
  const real = realpathSync(path);
  return allow(statSync(real).isDirectory() ? READ : "read-file", real);
};

/**
 * Returns the files that Node.js looks for above a module. An unreadable one ends it; behind other walls there are
 * none.
 */
const packageFiles = (reads: readonly string[]): Set<string> =>
  new Set(
    reads.flatMap((path) => {
      const names = path.split("/").slice(1, -1);
      return ["", ...names].map((_, depth) => join("/", ...names.slice(0, depth), "package.json"));
    }),
  );

/** Returns the descriptor of a file with these bytes that has no name and that every user may read. */
function namelessFile(bytes: Buffer): number {
  const folder = mkdtempSync(join(tmpdir(), "sealift-filter-"));
  try {
    writeFileSync(join(folder, "filter"), bytes, { flag: "wx" });
    const descriptor = openSync(join(folder, "filter"), "r");
    fchmodSync(descriptor, 0o444);
    return descriptor;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Wall of Landlock; it holds open files until it is disposed of. */
export class LandlockWall implements Wall {
  readonly name: string;
  readonly parts = ["rules for files by Landlock", "a filter of system calls", "no new privileges", "no /proc"];
  readonly ownNetwork = false;
  readonly scratch = false;
  readonly #file: string;
  readonly #base: readonly string[];
  readonly #libraries = sharedLibraries();
  readonly #filters: { readonly none: number; readonly all: number };

  private constructor({ file, version, dropPowers }: LandlockOptions, none: Buffer, all: Buffer) {
    this.name = `landlock (setpriv ${version})`;
    this.#file = file;
    this.#filters = { none: namelessFile(none), all: namelessFile(all) };
    this.#base = [
      ...["--no-new-privs", "--inh-caps=-all", ...(dropPowers ? ["--bounding-set=-all"] : [])],
      ...["--landlock-access", "fs", "--seccomp-filter", `/proc/self/fd/${FILTER_FD}`],
      // It is read after the rules are in force.
      ...allow("read-file", `/proc/self/fd/${FILTER_FD}`),
      ...DEVICES.flatMap((path) => allow("read-file,write-file", path)),
      // The loader, which the kernel starts, is among them.
      ...[...this.#libraries, nodeFile()].flatMap((path) => allow("read-file,execute", realpathSync(path))),
      ...[LOADER_CACHE, TIME_ZONE].flatMap(allowRead),
    ];
  }

  /** Builds the wall. Returns undefined for an architecture without a filter, since the rules alone are not enough. */
  static build(options: LandlockOptions): LandlockWall | undefined {
    const none = seccompFilter({ families: [], sharesHost: true });
    const all = seccompFilter({ families: [FAMILY.inet, FAMILY.inet6, FAMILY.netlink], sharesHost: true });
    return none && all && new LandlockWall(options, none, all);
  }

  enclose(program: Program, { reads, writes, network }: ProcessView): Enclosed {
    const named = network === "all" ? nameService(this.#libraries) : [];
    return {
      file: this.#file,
      arguments: [
        ...this.#base,
        ...[...reads, ...named, ...packageFiles(reads)].flatMap(allowRead),
        ...writes.flatMap((path) => allow(WRITE, path)),
        ...["--", program.file, NO_OPENSSL_FILE, ...program.arguments],
      ],
      filter: network === "all" ? this.#filters.all : this.#filters.none,
      process: "same",
    };
  }

  [Symbol.dispose](): void {
    closeSync(this.#filters.none);
    closeSync(this.#filters.all);
  }
}
