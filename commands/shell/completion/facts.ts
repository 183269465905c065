import { Cli, type CommandClass } from "clipanion";

/** What manual pages and completion say of an option. */
export interface OptionFacts {
  /** With its dashes. */
  name: string;
  description: string;
  takesValue: boolean;
  /** The words that it takes, when there are few. */
  values: readonly string[];
}

export interface CommandFacts {
  /** The words that call it; a family such as `watch pause|resume` has several of them. */
  paths: readonly (readonly string[])[];
  /** Names of its arguments, as in its usage. */
  usage: string;
  category: string;
  description: string;
  /** Paragraphs, with names in backticks. */
  details: string;
  examples: readonly (readonly [what: string, line: string])[];
  options: readonly OptionFacts[];
}

const HELP: OptionFacts = { name: "--help", description: "Show what there is", takesValue: false, values: [] };

/** What is known of every command that has a description, in the order of the words that call them. */
export function factsOf(commands: readonly CommandClass[]): CommandFacts[] {
  const found = commands.flatMap((command): CommandFacts[] => {
    const { paths = [], usage } = command;
    const cli = new Cli({ binaryName: "$0" });
    cli.register(command);
    const [definition] = cli.definitions({ colored: false });
    if (usage === undefined || definition === undefined) return [];
    const words = paths[0]!.join(" ");
    return [
      {
        paths,
        usage: definition.usage.replace(/^\$0 /, "").slice(words.length).trim(),
        category: usage.category ?? "",
        description: usage.description ?? "",
        details: paragraphs(usage.details ?? ""),
        examples: usage.examples ?? [],
        options: [...definition.options.map(optionOf), HELP],
      },
    ];
  });
  return found.toSorted((a, b) => (a.paths[0]!.join(" ") < b.paths[0]!.join(" ") ? -1 : 1));
}

function optionOf({
  definition,
  description = "",
}: {
  definition: string;
  description?: string | undefined;
}): OptionFacts {
  const [name, value] = definition.split(" ");
  // What is on by itself is described by what turns it off.
  const [, off, why] = /^(--no-[a-z-]+) (.*)$/.exec(description) ?? [];
  return {
    name: off ?? name!,
    description: why ?? description,
    takesValue: value !== undefined,
    values: valuesOf(description),
  };
}

/** `plugin or service (default: plugin)`, `What runs it: none, docker or systemd`: descriptions name the words that an option takes. */
function valuesOf(description: string): string[] {
  const listed = /(?:^|: )((?:[a-z]+, )*[a-z]+ or [a-z]+)(?= \(|$)/.exec(description)?.[1];
  return listed?.split(/, | or /) ?? [];
}

/** Paragraphs without the indentation and the line breaks that they have in the source. */
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
