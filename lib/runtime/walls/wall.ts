/** Wall that the operating system puts around a sandboxed process, in addition to Node's own permission model. */
export interface Wall extends Disposable {
  /** Program that makes it, with its version. */
  readonly name: string;
  /** Parts of it that work here, one phrase each. */
  readonly parts: readonly string[];
  /** Whether a process has a network of its own, with at most a proxy's socket as its exit. */
  readonly ownNetwork: boolean;
  /** Whether a process has a `/tmp` of its own, of the size in its view. */
  readonly scratch: boolean;
  /** Returns the program that runs `program` behind the wall. */
  enclose(program: Program, view: ProcessView): Enclosed;
}

export interface Program {
  file: string;
  arguments: readonly string[];
}

/** Enclosed program. */
export interface Enclosed extends Program {
  /** Filter of system calls, at descriptor {@link FILTER_FD}: its bytes, or the descriptor of a file with them. */
  filter: Buffer | number | undefined;
  /**
   * Enclosed process: `same` is the one that was started; `child` is one below it, whose id the program reports as JSON
   * on descriptor {@link INFO_FD}.
   */
  process: "same" | "child";
}

export const INFO_FD = 4;
export const FILTER_FD = 5;

/** View of a process behind a wall, besides Node.js itself. */
export interface ProcessView {
  /** Real paths, of files or folders. */
  reads: readonly string[];
  /** Real paths of folders. */
  writes: readonly string[];
  /** Folder in which the process starts. */
  cwd: string;
  /** `all` is the host's own network; an object is a network of its own, whose exit is the socket of a proxy. */
  network: "none" | "all" | { socket: string };
  /** Size of the process's `/tmp` in megabytes; 0 for none. */
  scratchMb: number;
}
