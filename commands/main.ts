import { Builtins, Cli, Command, type CommandClass } from "clipanion";
import { EXIT } from "../lib/contract/codes.ts";
import { version } from "./version.ts";

/** One program with all given commands as subcommands. @returns its exit code */
export async function runProgram(
  name: string,
  commands: readonly CommandClass[],
  argv: readonly string[],
): Promise<number> {
  const cli = new Cli({
    binaryLabel: "Sealift",
    binaryName: name,
    binaryVersion: version(),
    enableColors: process.stdout.isTTY === true && process.env.NO_COLOR === undefined,
  });
  cli.register(Builtins.HelpCommand);
  cli.register(Builtins.VersionCommand);
  for (const command of commands) cli.register(command);
  let command: Command;
  try {
    command = cli.process([...argv], { ...Cli.defaultContext });
  } catch (error) {
    process.stderr.write(describeSyntaxError(error as Error, name));
    return EXIT.usage;
  }
  if (command.help) {
    process.stdout.write(withPlaceholders(cli.usage(command, { detailed: true })));
    return EXIT.done;
  }
  return cli.run(command, Cli.defaultContext);
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
const withPlaceholders = (usage: string): string => usage.replace(/(--[\w-]+) #0 {0,3}/g, "$1 VALUE");

/** Clipanion's own errors, in our form: what is wrong, and where the options are listed. */
function describeSyntaxError(error: Error, name: string): string {
  const [first = ""] = error.message.split("\n");
  const what = first.startsWith("Command not found")
    ? "Unknown command or argument, or a missing value"
    : first.replace(/[.:]$/, "");
  return `error (usage): ${what}.\n  \`${name} --help\` shows what there is.\n`;
}
