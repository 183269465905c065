import { dirname, extname, resolve } from "node:path";
import { type FleetFile, fleetFile } from "../contract/files/fleet.ts";
import { readYamlFile } from "../support/yaml-file.ts";

/** A fleet.yaml that was read, and where it stands. */
export interface Fleet extends FleetFile {
  /** Path of the file. */
  file: string;
  /** Folder at which relative paths start. */
  folder: string;
  /** Path of the roll beside it. */
  lockFile: string;
}

/** Returns the path of the roll that belongs to a fleet file: `fleet.lock` for `fleet.yaml`. */
export const lockFileOf = (file: string): string => {
  const extension = extname(file);
  return `${extension === "" ? file : file.slice(0, -extension.length)}.lock`;
};

/** Reads a fleet file. @throws UsageError `config_invalid` with every fault and its line */
export async function readFleetFile(file: string): Promise<Fleet> {
  const content = await readYamlFile(file, fleetFile);
  return { ...content, file, folder: dirname(resolve(file)), lockFile: lockFileOf(file) };
}
