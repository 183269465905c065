/** A wall that the operating system puts around a sandboxed process, beside Node's own permission model. */
export interface Wall extends Disposable {
  /** The program that makes it, with its version. */
  readonly name: string;
  /** The parts of it that hold here, one phrase each. */
  readonly parts: readonly string[];
  /** A process has a network of its own, which may have the socket of a proxy as its way out. */
  readonly ownNetwork: boolean;
  /** A process has a `/tmp` of its own, of the size that its view says. */
  readonly scratch: boolean;
  /** Returns the program that runs `program` behind the wall. */
  enclose(program: Program, view: View): Enclosed;
}

export interface Program {
  file: string;
  arguments: readonly string[];
}

/** A program that was enclosed. */
export interface Enclosed extends Program {
  /** Filter of system calls, at descriptor {@link FILTER_FD}: its bytes, or the descriptor of a file with them. */
  filter: Buffer | number | undefined;
  /**
   * The enclosed process: `same` is the one that was started; `child` is one below it, whose id the program tells as
   * JSON on descriptor {@link INFO_FD}.
   */
  process: "same" | "child";
}

export const INFO_FD = 4;
export const FILTER_FD = 5;

/** The view of a process behind a wall, besides Node.js itself. */
export interface View {
  /** Real paths, of files or folders. */
  reads: readonly string[];
  /** Real paths of folders. */
  writes: readonly string[];
  /** The folder that the process starts in. */
  cwd: string;
  /** `all` is the host's own network; an object is a network of its own, with the socket of a proxy as the way out. */
  network: "none" | "all" | { socket: string };
  /** Megabytes of the process's `/tmp`; it has none with 0. */
  scratchMb: number;
}
