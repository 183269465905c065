import { join } from "node:path";
import { type SealiftError, usageError } from "../../contract/errors.ts";
import { commandOutput } from "../../support/command-output.ts";
import { type Kek, kekFileVersion, parseKeks, readKekFile } from "./kek-file.ts";

/** Source of the key-encryption keys. */
export interface KekSource {
  /** Name of the source in messages. */
  readonly name: string;
  /** File that the hub may write; undefined where the keys are managed elsewhere. */
  readonly path?: string;
  /** Reads the keys. @throws `credential_unreadable` */
  read(): Promise<Kek[]>;
  /** Returns a value that changes whenever the keys may have changed. Without it they are read only when forced. */
  version?(): Promise<string>;
}

/** Location of the keys, as given by an operator. */
export type KekLocation =
  /** File that the hub writes; with `isManaged` a file that somebody else writes, such as a systemd credential. */
  | { file: string; isManaged?: boolean }
  /** Shell command that prints the content of a KEK file. */
  | { command: string };

/** Returns the source at a location; by default `kek.json` in the data folder. */
export function kekSource(location: KekLocation | undefined, dataDir: string): KekSource {
  if (location === undefined) return kekFileSource(join(dataDir, "kek.json"));
  return "file" in location ? kekFileSource(location.file, location) : kekCommandSource(location.command);
}

/** Returns the error for keys that this database was never used with. */
export const foreignKeks = ({ name }: KekSource): SealiftError =>
  usageError("credential_unreadable", `The database has never been used with a key of ${name}.`, {
    hint: "Check --database-url and where the KEKs come from: all hubs of one database share them.",
  });

/**
 * Returns a source of KEKs in a file. @param isManaged true for a file that somebody else writes, such as a systemd
 * credential
 */
export const kekFileSource = (path: string, { isManaged = false } = {}): KekSource => ({
  name: `the KEK file ${path}`,
  ...(!isManaged && { path }),
  read: () => readKekFile(path),
  version: () => kekFileVersion(path),
});

/** Time limit of a command that fetches keys, in milliseconds. */
const COMMAND_TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;

/**
 * Returns a source of KEKs that a shell command prints in the form of a KEK file. Its standard error is the hub's own.
 */
const kekCommandSource = (command: string): KekSource => ({
  name: "the KEK command",
  async read() {
    const unreadable = (why: string) =>
      usageError("credential_unreadable", `The KEK command ${why}.`, {
        hint: "Run it by hand: it prints what a KEK file holds (sealift hub create-kek).",
      });
    const limits = { timeoutMs: COMMAND_TIMEOUT_MS, maxBytes: MAX_OUTPUT_BYTES };
    const output = await commandOutput(["/bin/sh", "-c", command], limits).catch((error: Error) => {
      throw unreadable(error.message);
    });
    const keks = parseKeks(output.toString("utf8"));
    if (keks === undefined) throw unreadable("printed something else than KEKs");
    return keks;
  },
});
