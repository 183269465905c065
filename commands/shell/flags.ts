import { type Command, Option as Flag } from "clipanion";
import type { Given, Option, OptionTable } from "../../lib/options/option.ts";

/**
 * Declares the flags of a table on a command, under the option's name with two dashes, which no member has. Clipanion
 * only reads them: its validators see flags alone, while an option may also come from the environment or a file, and is
 * checked where all of these meet.
 */
export function declareFlags(command: Command, table: OptionTable): void {
  const members = command as unknown as Record<string, unknown>;
  for (const option of Object.values(table)) {
    if (!option.fileOnly) members[`--${option.name}`] = flagOf(option);
    if (option.fromBytes !== undefined) members[`--${option.name}-file`] = Flag.String(`--${option.name}-file`);
  }
}

function flagOf({ kind, flag: main, alias }: Option): unknown {
  const flag = alias === undefined ? main : `${main},${alias}`;
  if (kind === "flag") return Flag.Boolean(flag);
  return kind === "list" ? Flag.Array(flag) : Flag.String(flag);
}

/** Declares required arguments on a command. @returns their values once the command line is parsed */
export function declareArguments<const Names extends readonly string[]>(
  command: Command,
  names: Names,
): () => { [K in keyof Names]: string } {
  const members = command as unknown as Record<string, unknown>;
  for (const name of names) members[name] = Flag.String({ required: true, name });
  return () => names.map((name) => members[name]) as { [K in keyof Names]: string };
}

/** Tells whether a yes-or-no option says yes. */
export const meansYes = (given: Given | undefined): boolean =>
  given === true || (typeof given === "string" && /^(1|true|yes|on)$/i.test(given));
