import { flag, list, path } from "./kinds.ts";
import { group } from "./option.ts";

/** Options of every command. */
export const common = group("General", {
  json: flag({ help: "Print JSON lines on stdout; the last one is the result" }),
  fields: list(
    { metavar: "NAMES", help: "Print JSON lines with these fields only, as a,b.c", commas: true },
    (name) => name,
  ),
  csv: flag({ help: "Print CSV on stdout" }),
  verbose: flag({ help: "Show the causes of an error" }),
  config: path({ help: "Configuration file", defaultText: "sealift.yaml, when it exists" }),
});

/** Log levels, from the most lines to the fewest. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
