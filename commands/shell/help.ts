import type { CommandClass } from "clipanion";
import type { CommandFacts, OptionFacts } from "./facts.ts";

/** Writes the help of a command as plain text that fits the terminal. */

/** Narrowest width of help, in columns. */
const NARROWEST = 60;
const WIDEST = 100;
/** Width where the terminal does not report one, and for a pipe, in columns. */
const USUAL = 80;
/** Width of the column of option names. */
const NAMES = 26;

/** Returns the columns that help may use on this terminal. */
export const helpWidth = (columns: number | undefined): number =>
  Math.min(Math.max(columns ?? USUAL, NARROWEST), Math.min(WIDEST, columns ?? USUAL));

/** Wraps a text to lines of at most `width` columns. A longer word has a line of its own. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** Returns the line that shows how to call a command. @param words of the program and the command */
export const usageLine = (words: string, { usage }: Pick<CommandFacts, "usage">): string =>
  [words, usage, "[options]"].filter((part) => part !== "").join(" ");

/** Returns the help of one command: what it does, how it is called, its options under their headings, examples. */
export function commandHelp(program: string, words: string, facts: CommandFacts, width: number): string {
  const call = [program, words].filter((part) => part !== "").join(" ");
  const others = facts.paths.map((path) => path.join(" ")).filter((path) => path !== words && path !== "");
  const sections = [
    facts.description,
    `Usage: ${usageLine(call, facts)}`,
    ...(others.length === 0 || words === "" ? [] : [wrapped(`Also: ${others.join(", ")}`, width).join("\n")]),
    ...paragraphLines(facts.details, width),
    ...optionSections(facts.options, width),
    ...exampleSection(facts, program, width),
  ];
  return `${sections.join("\n\n")}\n`;
}

const paragraphLines = (details: string, width: number): string[] =>
  details === "" ? [] : details.split("\n\n").map((paragraph) => wrapped(paragraph, width).join("\n"));

/** Returns required options first, then the headings in the order of the command's table. */
function optionSections(options: readonly OptionFacts[], width: number): string[] {
  const groups = new Map<string, OptionFacts[]>();
  for (const option of options) {
    if (option.isSecret) continue;
    const heading = option.required ? "Required" : option.heading;
    groups.set(heading, [...(groups.get(heading) ?? []), option]);
  }
  const required = groups.get("Required");
  groups.delete("Required");
  const ordered = [...(required === undefined ? [] : [["Required", required] as const]), ...groups];
  const column = Math.min(NAMES, Math.max(...options.map((option) => nameOf(option).length))) + 4;
  return ordered.map(([heading, members]) =>
    [`${heading}:`, ...members.flatMap((option) => optionLines(option, column, width))].join("\n"),
  );
}

const nameOf = ({ name, metavar }: OptionFacts): string => (metavar === "" ? name : `${name} ${metavar}`);

function optionLines(option: OptionFacts, column: number, width: number): string[] {
  const listed = option.values.length > 3 ? ` (${option.values.join(", ")})` : "";
  const otherwise = option.defaultText === undefined ? "" : ` (default: ${option.defaultText})`;
  return entryLines(nameOf(option), `${option.description}${listed}${otherwise}`, column, width);
}

/** Formats a name with its text in a column beside it; a longer name has a line of its own. */
export function entryLines(name: string, text: string, column: number, width: number): string[] {
  const [first = "", ...more] = wrapped(text, width - column).map((line) => " ".repeat(column) + line);
  return name.length + 4 > column
    ? [`  ${name}`, first, ...more]
    : [`  ${name}`.padEnd(column) + first.trimStart(), ...more];
}

function exampleSection({ examples }: CommandFacts, program: string, width: number): string[] {
  if (examples.length === 0) return [];
  const lines = examples.flatMap(([what, line]) => [
    `  ${what}:`,
    ...commandLines(line.replaceAll("$0", program), width),
  ]);
  return [["Examples:", ...lines].join("\n")];
}

/** Splits a command line over several lines, as a shell accepts them. */
const commandLines = (line: string, width: number): string[] =>
  wrapped(line, width - 8).map((part, index, parts) => {
    const indent = index === 0 ? "    " : "      ";
    return `${indent}${part}${index < parts.length - 1 ? " \\" : ""}`;
  });

/** Lists every command in a line, by category. @param name the words that all of them begin with */
export function overview(name: string, commands: readonly CommandClass[], version: string, width: number): string {
  const described = commands.flatMap(({ paths = [], usage }) =>
    usage === undefined ? [] : [{ words: wordsOf(paths), category: usage.category!, what: usage.description! }],
  );
  const column = Math.min(NAMES, Math.max(...described.map(({ words }) => words.length))) + 4;
  const groups = Object.groupBy(described, ({ category }) => category);
  const sections = Object.entries(groups)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([category, members]) => {
      const lines = members!.toSorted((a, b) => (a.words < b.words ? -1 : 1));
      const entries = lines.flatMap(({ words, what }) => entryLines(words, what, column, width));
      return `${category}\n${entries.join("\n")}\n`;
    });
  return `Sealift ${version}\n\n${sections.join("\n")}\n\`${name} COMMAND --help\` explains one of them.\n`;
}

/** Returns the words that call a command; verbs of one family are printed together: `watch pause|resume`. */
function wordsOf(paths: readonly string[][]): string {
  const [first = []] = paths;
  const family = paths.length > 1 && paths.every((path) => path.length === 2 && path[0] === first[0]);
  return family ? `${first[0]} ${paths.map((path) => path[1]).join("|")}` : first.join(" ");
}
