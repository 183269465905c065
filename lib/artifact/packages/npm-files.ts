import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { usageError } from "../../contract/errors.ts";
import { faultsOf } from "../../support/documents/faults.ts";
import { type DocumentLimits, JSON_LIMITS, parseJson } from "../../support/documents/limits.ts";
import { missing, readFault } from "../../support/files.ts";

/** Reads files that npm writes, within limits. */

/** Limits of a lock file: one of 3,000 packages has 1.5 MB and 60,000 values. */
const LOCK_LIMITS: Readonly<DocumentLimits> = {
  ...JSON_LIMITS,
  maxBytes: 32 * 1024 * 1024,
  maxNodes: 2_000_000,
};

const names = z.record(z.string(), z.string()).default({});

const packageFile = z.looseObject({
  name: z.string().optional(),
  version: z.string().optional(),
  license: z.unknown().optional(),
  dependencies: names,
  optionalDependencies: names,
});
export type PackageFile = z.output<typeof packageFile>;

const locked = z.looseObject({
  version: z.string().optional(),
  /** Tarball, or the folder of a link. */
  resolved: z.union([z.string(), z.boolean()]).optional(),
  license: z.unknown().optional(),
  dev: z.boolean().default(false),
  optional: z.boolean().default(false),
  devOptional: z.boolean().default(false),
  extraneous: z.boolean().default(false),
  link: z.boolean().default(false),
});
/** Package of a lock file. */
export type Locked = z.output<typeof locked>;

const lockFile = z.looseObject({
  lockfileVersion: z.number(),
  packages: z.record(z.string(), locked).default({}),
});

/** Names of npm's lock files, in the order in which npm prefers them. */
export const NPM_LOCKS = ["npm-shrinkwrap.json", "package-lock.json"] as const;
/** First version of lock files that lists packages by their folders. */
const LEAST_VERSION = 2;

/** Reads a regular file of at most `maxBytes`; undefined where there is none. */
function textOf(file: string, maxBytes: number): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (missing(error)) return undefined;
    throw usageError("usage", `${file} cannot be read: ${readFault(error)}.`);
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw usageError("usage", `${file} is not a regular file.`);
    if (stats.size > maxBytes) throw usageError("usage", `${file} is larger than ${maxBytes} bytes.`);
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}

function read<T extends z.ZodType>(
  file: string,
  schema: T,
  limits: DocumentLimits = JSON_LIMITS,
): z.output<T> | undefined {
  const text = textOf(file, limits.maxBytes);
  if (text === undefined) return undefined;
  try {
    return schema.parse(parseJson(text.replace(/^\uFEFF/, ""), limits), { jitless: true });
  } catch (error) {
    const faults = error instanceof z.ZodError ? faultsOf(error) : [(error as Error).message];
    throw usageError("usage", `${file} is not what npm writes: ${faults.join("; ")}.`, { faults, cause: error });
  }
}

/** Reads the `package.json` of a folder; undefined without one. @throws UsageError `usage` */
export const readPackageFile = (folder: string): PackageFile | undefined =>
  read(join(folder, "package.json"), packageFile);

/**
 * Reads npm's lock file of a folder; undefined without one.
 *
 * @returns packages by their folders
 * @throws UsageError `usage` for one that npm 6 or older wrote
 */
export function readLockFile(folder: string): Readonly<Record<string, Locked>> | undefined {
  for (const name of NPM_LOCKS) {
    const file = join(folder, name);
    const lock = read(file, lockFile, LOCK_LIMITS);
    if (lock === undefined) continue;
    if (lock.lockfileVersion >= LEAST_VERSION) return lock.packages;
    throw usageError("usage", `${file} has version ${lock.lockfileVersion}, which names no folders.`, {
      hint: "Run `npm install --package-lock-only` with npm 7 or newer: it writes the file anew.",
    });
  }
  return undefined;
}
