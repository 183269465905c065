import { Option } from "clipanion";
import { DEFAULT_LIMITS, type Limits } from "../../lib/artifact/limits.ts";
import type { Settings } from "../../lib/support/settings.ts";

/** The flags of {@link Limits}, the same on every command that opens or makes archives. Spread into a command class by assignment. */
export const limitOptions = {
  maxEntries: () =>
    Option.String("--max-entries", { description: "Files and folders in an archive (default: 250000)" }),
  maxEntrySize: () => Option.String("--max-entry-size", { description: "Size of one file (default: 16G)" }),
  maxTotalSize: () => Option.String("--max-total-size", { description: "Size of all files together (default: 64G)" }),
  maxRatio: () => Option.String("--max-ratio", { description: "Unpacked bytes for each packed byte (default: 500)" }),
  maxDepth: () => Option.String("--max-depth", { description: "Folders above a file (default: 64)" }),
  maxNameLength: () => Option.String("--max-name-length", { description: "Bytes in a file's path (default: 1024)" }),
};

export function limitsFrom(settings: Settings): Limits {
  return {
    maxEntries: settings.integer("max-entries", DEFAULT_LIMITS.maxEntries, { min: 1 }),
    maxEntryBytes: settings.size("max-entry-size", DEFAULT_LIMITS.maxEntryBytes),
    maxTotalBytes: settings.size("max-total-size", DEFAULT_LIMITS.maxTotalBytes),
    maxRatio: settings.integer("max-ratio", DEFAULT_LIMITS.maxRatio, { min: 1 }),
    maxDepth: settings.integer("max-depth", DEFAULT_LIMITS.maxDepth, { min: 1 }),
    maxNameBytes: settings.integer("max-name-length", DEFAULT_LIMITS.maxNameBytes, { min: 1, max: 4096 }),
  };
}
