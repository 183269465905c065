import { readFileSync } from "node:fs";
import { parseArgs, type ParseArgsConfig } from "node:util";

/**
 * Returns the options and words that a script was given. `--help` prints the comment at the start of its file; unknown
 * arguments end the script with 2.
 *
 * @param file of the script
 */
export function scriptArguments<const T extends ParseArgsConfig>(file: string, config: T) {
  const given = process.argv.slice(2);
  if (given.slice(0, given.includes("--") ? given.indexOf("--") : undefined).includes("--help")) {
    console.log(helpOf(readFileSync(file, "utf8"), config));
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    console.error(`${(error as Error).message.split(/\. |\n/)[0]}. --help shows what there is.`);
    process.exit(2);
  }
}

/** Returns the first comment of a script, then its options with their defaults. */
function helpOf(source: string, { options = {} }: ParseArgsConfig): string {
  const comment = /\/\*\*(.*?)\*\//s.exec(source)?.[1] ?? "";
  const text = comment.replaceAll(/^ *\* ?/gm, "").trim();
  const lines = Object.entries(options).map(([name, { type, default: value }]) => {
    const flag = type === "boolean" ? `--${name}` : `--${name} VALUE`;
    return `  ${flag}${value === undefined || value === false ? "" : `  (default: ${String(value)})`}`;
  });
  return [text, ...(lines.length === 0 ? [] : ["", "Options:", ...lines])].join("\n");
}
