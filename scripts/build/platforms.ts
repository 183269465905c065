import { execFileSync } from "node:child_process";

/** Processor that there are files for. */
export interface Platform {
  /** Name of Debian and of OCI. */
  debian: "amd64" | "arm64";
  /** Begins the names of its compilers' programs, and is the folder of its libraries. */
  triplet: string;
  /** Ends the names of Debian's packages of its libraries for a compiler of another platform. */
  cross: string;
}

/** Platforms by the name that Node.js has for their processor. */
export const PLATFORMS = {
  x64: { debian: "amd64", triplet: "x86_64-linux-gnu", cross: "-amd64-cross" },
  arm64: { debian: "arm64", triplet: "aarch64-linux-gnu", cross: "-arm64-cross" },
} as const satisfies Record<string, Platform>;

export type Processor = keyof typeof PLATFORMS;

/** @throws Error for a processor that there are no files for */
export function requireProcessor(name: string): Processor {
  if (!Object.hasOwn(PLATFORMS, name)) throw new Error(`--arch is one of ${Object.keys(PLATFORMS).join(", ")}.`);
  return name as Processor;
}

export const isOfThisMachine = (processor: Processor): boolean =>
  process.platform === "linux" && processor === process.arch;

/** Program of the binutils, such as `strip`, for files of a processor. */
export const binutil = (name: string, processor: Processor): string =>
  isOfThisMachine(processor) ? name : `${PLATFORMS[processor].triplet}-${name}`;

/** Time that all files of a build are given: `SOURCE_DATE_EPOCH`, or that of the last commit, in seconds. */
export const buildTime = (): number =>
  Number(process.env["SOURCE_DATE_EPOCH"] ?? execFileSync("git", ["log", "-1", "--format=%ct"], { encoding: "utf8" }));
