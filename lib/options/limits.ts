import { DEFAULT_LIMITS } from "../artifact/limits.ts";
import { size, whole } from "./kinds.ts";
import { group } from "./option.ts";

/** Limits of an archive or artifact; the keys are those of `Limits`. */
export const limits = group("Limits of archives", {
  maxEntries: whole({ help: "Files and folders in an archive", default: DEFAULT_LIMITS.maxEntries, min: 1 }),
  maxEntryBytes: size({ name: "max-entry-size", help: "Size of one file", default: DEFAULT_LIMITS.maxEntryBytes }),
  maxTotalBytes: size({
    name: "max-total-size",
    help: "Size of all files together",
    default: DEFAULT_LIMITS.maxTotalBytes,
  }),
  maxRatio: whole({ help: "Unpacked bytes for each packed byte", default: DEFAULT_LIMITS.maxRatio, min: 1 }),
  maxDepth: whole({ help: "Folders above a file", default: DEFAULT_LIMITS.maxDepth, min: 1 }),
  maxNameBytes: whole({
    name: "max-name-length",
    help: "Bytes in a file's path",
    default: DEFAULT_LIMITS.maxNameBytes,
    min: 1,
    max: 4096,
  }),
});
