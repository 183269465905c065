import type { CommandClass } from "clipanion";
import { flag } from "../../lib/options/kinds.ts";
import { group, type Option, type OptionTable, variableOf } from "../../lib/options/option.ts";
import type { SealiftCommand } from "./base.ts";

/** Flag of a command, for help, manual pages and completion. */
export interface OptionFacts {
  /** Flag, with its dashes. */
  name: string;
  /** Alternative flag, not shown in help. */
  alias?: string | undefined;
  /** Name of the value in help; empty for a flag. */
  metavar: string;
  /** Help, without the default. */
  description: string;
  /** Default in words, or undefined. */
  defaultText: string | undefined;
  heading: string;
  required: boolean;
  takesValue: boolean;
  /** Words that it accepts, when there are few. */
  values: readonly string[];
  /** Variable of the option. */
  variable: string;
  /** Whether it is a secret itself: help names the flag of its file instead. */
  isSecret: boolean;
  /** Whether it names a file with a secret. */
  isSecretFile?: boolean;
}

export interface Positional {
  name: string;
  required: boolean;
  /** Whether it takes all remaining words. */
  rest: boolean;
}

export interface CommandFacts {
  /** Words that call it, the preferred ones first; a family such as `watch pause|resume` has several. */
  paths: readonly (readonly string[])[];
  positionals: readonly Positional[];
  /** Names of its arguments, as in its usage. */
  usage: string;
  category: string;
  description: string;
  /** Paragraphs, with names in backticks. */
  details: string;
  examples: readonly (readonly [what: string, line: string])[];
  options: readonly OptionFacts[];
}

/** Returns the facts of every command with a description, ordered by the words that call them. */
export function allCommandFacts(commands: readonly CommandClass[]): CommandFacts[] {
  const found = commands.filter(({ usage }) => usage !== undefined).map(commandFacts);
  return found.toSorted((a, b) => (a.paths[0]!.join(" ") < b.paths[0]!.join(" ") ? -1 : 1));
}

/** Returns the facts of a command that is a program by itself: examples do not name it twice. */
export function asRole(facts: CommandFacts): CommandFacts {
  const names = facts.paths.map((path) => `$0 ${path.join(" ")}`).toSorted((a, b) => b.length - a.length);
  const examples = facts.examples.map(([what, line]) => {
    const name = names.find((candidate) => line.includes(candidate));
    return [what, name === undefined ? line : line.replace(name, "$0")] as const;
  });
  return { ...facts, examples };
}

/** Returns the facts of one command. */
export function commandFacts(command: CommandClass): CommandFacts {
  const { paths = [], usage = {} } = command;
  const { table } = command as unknown as typeof SealiftCommand;
  const positionals = positionalsOf(command);
  return {
    paths,
    positionals,
    usage: positionals.map(shown).join(" "),
    category: usage.category ?? "",
    description: usage.description ?? "",
    details: paragraphs(usage.details ?? ""),
    examples: usage.examples ?? [],
    options: [...optionFacts(table), HELP],
  };
}

/** Formats an argument: `NAME`, `[NAME]`, `NAME…` or `[NAME…]`. */
function shown({ name, required, rest }: Positional): string {
  const text = rest ? `${name}…` : name;
  return required ? text : `[${text}]`;
}

/** Returns the arguments that a command declares, in order. Clipanion only has them as calls of its builder. */
function positionalsOf(command: CommandClass): Positional[] {
  const found: Positional[] = [];
  const builder = {
    addPositional: ({ name, required = true }: { name: string; required?: boolean }) =>
      found.push({ name, required, rest: false }),
    addRest: ({ name, required = 0 }: { name: string; required?: number }) =>
      found.push({ name, required: required > 0, rest: true }),
    addOption: () => undefined,
  };
  for (const [key, member] of Object.entries(new command())) {
    if (key.startsWith("--")) continue;
    (member as { definition?: (to: typeof builder, key: string) => void } | undefined)?.definition?.(builder, key);
  }
  return found;
}

function optionFacts(table: OptionTable): OptionFacts[] {
  return Object.values(table).flatMap((option) => {
    if (option.fromBytes !== undefined) return secretFacts(option);
    const on = option.kind === "flag" && option.default === true;
    return [{ ...factsOfOption(option), name: on ? option.flag.replace(/^--/, "--no-") : option.flag }];
  });
}

const factsOfOption = (option: Option): OptionFacts => ({
  name: option.flag,
  alias: option.alias,
  metavar: option.metavar,
  description: option.help,
  defaultText: option.shownDefault,
  heading: option.heading,
  required: option.required,
  takesValue: option.kind !== "flag",
  values: option.choices,
  variable: variableOf(option.name),
  isSecret: false,
});

const { help } = group("General", { help: flag({ help: "Show this help" }) });
const HELP: OptionFacts = { ...factsOfOption(help), variable: "" };

/** Returns the two flags of a secret: the value, which other users of the machine may see, and a file with it. */
function secretFacts(option: Option): OptionFacts[] {
  const facts = factsOfOption(option);
  const file: OptionFacts = {
    ...facts,
    name: `--${option.name}-file`,
    metavar: "PATH",
    description: `${option.help}; - is standard input`,
    variable: variableOf(`${option.name}-file`),
    isSecretFile: true,
  };
  if (option.fileOnly) return [file];
  const value = { ...facts, description: `${option.help}; safer as ${facts.variable} or in a file`, isSecret: true };
  return [value, file];
}

/** Splits a text into paragraphs, without the source's indentation and line breaks. */
const paragraphs = (text: string): string =>
  text
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) =>
      paragraph
        .trim()
        .split(/\s*\n\s*/)
        .join(" "),
    )
    .join("\n\n");
