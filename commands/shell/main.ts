import { Writable } from "node:stream";
import { Builtins, Cli, Command, type CommandClass } from "clipanion";
import { EXIT } from "../../lib/contract/codes.ts";
import { version } from "./version.ts";

/** One program with all given commands as subcommands. @returns its exit code */
export async function runProgram(
  name: string,
  commands: readonly CommandClass[],
  argv: readonly string[],
): Promise<number> {
  const isOverview = argv.length === 0 || (argv.length === 1 && /^(?:-h|--help)$/.test(argv[0]!));
  if (isOverview && commands.length > 1) {
    process.stdout.write(overview(name, commands));
    return EXIT.done;
  }
  const cli = new Cli({
    binaryLabel: "Sealift",
    binaryName: name,
    binaryVersion: version(),
    enableColors: process.stdout.isTTY === true && process.env.NO_COLOR === undefined,
  });
  cli.register(Builtins.HelpCommand);
  cli.register(Builtins.VersionCommand);
  for (const command of concerned(commands, argv[0])) cli.register(command);
  let command: Command;
  try {
    command = cli.process([...argv], { ...Cli.defaultContext });
  } catch (error) {
    process.stderr.write(describeSyntaxError(error as Error, name));
    return EXIT.usage;
  }
  const asksHelp = argv.some((word) => word === "-h" || word === "--help");
  return cli.run(command, asksHelp ? { ...Cli.defaultContext, stdout: helpStream() } : Cli.defaultContext);
}

/** The commands that the first word may begin; all of them when it begins none. Clipanion takes 50 ms to compile the options of all. */
function concerned(commands: readonly CommandClass[], word: string | undefined): readonly CommandClass[] {
  const begun = commands.filter(({ paths = [] }) => paths.some((path) => path[0] === word));
  return begun.length > 0 ? begun : commands;
}

/** Every command in a line, by category. Clipanion's own list has all options of all of them in it. */
function overview(name: string, commands: readonly CommandClass[]): string {
  const described = commands.flatMap(({ paths = [], usage }) =>
    usage === undefined ? [] : [{ words: wordsOf(paths), category: usage.category!, what: usage.description! }],
  );
  const width = Math.max(...described.map(({ words }) => words.length)) + 2;
  const groups = Object.groupBy(described, ({ category }) => category);
  const sections = Object.entries(groups)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([category, members]) => {
      const lines = members!.toSorted((a, b) => (a.words < b.words ? -1 : 1));
      return `${category}\n${lines.map(({ words, what }) => `  ${words.padEnd(width)}${what}\n`).join("")}`;
    });
  return `Sealift ${version()}\n\n${sections.join("\n")}\n\`${name} COMMAND --help\` explains one of them.\n`;
}

/** How a command is called; verbs of one family are told together: `watch pause|resume`. */
function wordsOf(paths: readonly string[][]): string {
  const [first = []] = paths;
  const family = paths.length > 1 && paths.every((path) => path.length === 2 && path[0] === first[0]);
  return family ? `${first[0]} ${paths.map((path) => path[1]).join("|")}` : first.join(" ");
}

/** A program with one role: the command itself, without its name in front. */
export function runRole(name: string, command: CommandClass, argv: readonly string[]): Promise<number> {
  abstract class Renamed extends (command as unknown as abstract new () => Command) {}
  const Role = Renamed as unknown as CommandClass;
  Role.paths = [Command.Default];
  if (command.usage !== undefined) Role.usage = { ...command.usage, examples: roleExamples(command) };
  return runProgram(name, [Role], argv);
}

/** A role's program is the command: its examples do not name it twice. */
function roleExamples({ usage, paths = [] }: CommandClass): [string, string][] {
  const names = paths.map((path) => `$0 ${path.join(" ")}`).toSorted((a, b) => b.length - a.length);
  return (usage?.examples ?? []).map(([what, line]) => {
    const name = names.find((candidate) => line.includes(candidate));
    return [what, name === undefined ? line : line.replace(name, "$0")];
  });
}

/** Clipanion calls every value `#0`; the column of the descriptions stays where it is. */
function helpStream(): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, callback) {
      const text = chunk.toString().replace(/(--[\w-]+) #0((?:\u001b\[\d+m)*) {0,3}/g, "$1 VALUE$2");
      process.stdout.write(text, () => callback());
    },
  });
}

/** Clipanion's own errors, in our form: what is wrong, and where the options are listed. */
function describeSyntaxError(error: Error, name: string): string {
  const [first = ""] = error.message.split("\n");
  const what = first.startsWith("Command not found")
    ? "Unknown command or argument, or a missing value"
    : first.replace(/[.:]$/, "");
  return `error (usage): ${what}.\n  \`${name} --help\` shows what there is.\n`;
}
