import { Cli, Command, type CommandClass } from "clipanion";
import { EXIT } from "../../lib/contract/codes.ts";
import { type SealiftError, usageError } from "../../lib/contract/errors.ts";
import { printableJson } from "../../lib/support/printable.ts";
import { programVersion } from "../../lib/support/program-version.ts";
import type { SealiftCommand } from "./base.ts";
import { asRole, commandFacts } from "./facts.ts";
import { firstScreen } from "./first-screen.ts";
import { meansYes } from "./flags.ts";
import { commandHelp, helpWidth, overview } from "./help.ts";
import { describeError, failedResult } from "./output/failure.ts";
import { type CommandPlace, commandPlace } from "./place.ts";

/** Runs a program with all given commands as subcommands. @returns its exit code */
export async function runProgram(
  name: string,
  commands: readonly CommandClass[],
  given: readonly string[],
): Promise<number> {
  const argv = plainly(commands, given);
  if (workingFolder() === undefined) {
    const hint = "Change to a folder that exists.";
    return tell(usageError("usage", "The working folder is gone: it was removed or moved.", { hint }), asksJson(argv));
  }
  const options = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined);
  const place = commandPlace(commands, argv);
  if (argv.length === 1 && /^(?:-v|--version)$/.test(argv[0]!)) return say(`${programVersion()}\n`);
  if (options.some((word) => word === "-h" || word === "--help") || (argv.length === 0 && commands.length > 1)) {
    if (!callsNothing(place, argv)) return say(helpFor(name, commands, place, options.includes("--all")));
    const { diagnose } = await import("./diagnosis.ts");
    return tell(diagnose(name, commands, argv, ""), asksJson(argv));
  }
  const cli = new Cli({ binaryLabel: "Sealift", binaryName: name, binaryVersion: programVersion() });
  // Clipanion takes 50 ms to compile the options of all.
  const { command: called } = place;
  for (const command of called === undefined ? commands : [called]) cli.register(command);
  let command: Command;
  try {
    command = cli.process([...argv], { ...Cli.defaultContext });
  } catch (error) {
    const { diagnose } = await import("./diagnosis.ts");
    return tell(diagnose(name, commands, argv, (error as Error).message.split("\n")[0]!), asksJson(argv));
  }
  (command as SealiftCommand).commands = commands;
  return cli.run(command, Cli.defaultContext);
}

/** Returns the folder of relative paths, as long as it exists. */
function workingFolder(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}

/** Tells whether a word is in the place of a command's next word, and is none. */
function callsNothing({ words, command, beyond }: CommandPlace, argv: readonly string[]): boolean {
  const next = argv[words.length];
  return command === undefined && beyond.length > 0 && next !== undefined && !next.startsWith("-");
}

/** Rewrites `help X` and `version` as the options that they stand for. */
function plainly(commands: readonly CommandClass[], argv: readonly string[]): readonly string[] {
  const [first, ...rest] = argv;
  if (commands.length === 1) return argv;
  if (first === "help") return [...rest, "--help"];
  return first === "version" && rest.length === 0 ? ["--version"] : argv;
}

function say(text: string): number {
  process.stdout.write(text);
  return EXIT.done;
}

/**
 * Returns help for the command that the words call, or for the commands that they begin; without words for those that
 * people begin with.
 *
 * @param isAll whether all commands are wanted
 */
function helpFor(
  name: string,
  commands: readonly CommandClass[],
  { command, words, beyond }: CommandPlace,
  isAll: boolean,
): string {
  const width = helpWidth(process.stdout.columns);
  if (command !== undefined) return commandHelp(name, words.join(" "), commandFacts(command), width);
  if (words.length === 0 && !isAll) return firstScreen(name, commands, programVersion(), width);
  const within = words.length === 0 ? commands : [...new Set(beyond.map((call) => call.command))];
  return overview([name, ...words].join(" "), within, programVersion(), width);
}

/** Runs a program with one role: the command itself, without its name in front. */
export function runRole(name: string, command: CommandClass, argv: readonly string[]): Promise<number> {
  abstract class Renamed extends (command as unknown as abstract new () => Command) {}
  const Role = Renamed as unknown as CommandClass;
  Role.paths = [Command.Default];
  if (command.usage !== undefined) {
    const { examples } = asRole(commandFacts(command));
    Role.usage = { ...command.usage, examples: examples.map(([what, line]) => [what, line]) };
  }
  return runProgram(name, [Role], argv);
}

const asksJson = (argv: readonly string[]): boolean => argv.includes("--json") || meansYes(process.env["SEALIFT_JSON"]);

/** Reports a command line that cannot be run. @returns the exit code */
function tell(error: SealiftError, json: boolean): number {
  if (json) process.stdout.write(`${printableJson(failedResult(error))}\n`);
  else process.stderr.write(describeError(error));
  return error.exitCode;
}
