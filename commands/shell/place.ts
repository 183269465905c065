import type { CommandClass } from "clipanion";

/** Place to which the words of a command line lead. */
export interface CommandPlace {
  /** Words that are part of a command's name. */
  words: readonly string[];
  /** Command that they call, if any. */
  command: CommandClass | undefined;
  /** Commands that more words would call, with those words. */
  beyond: readonly { command: CommandClass; more: readonly string[] }[];
}

const startsWith = (path: readonly string[], words: readonly string[]): boolean =>
  words.every((word, index) => path[index] === word);

/** Follows the words as far as commands have such names. */
export function commandPlace(commands: readonly CommandClass[], argv: readonly string[]): CommandPlace {
  const calls = commands.flatMap((command) => (command.paths ?? []).map((path) => ({ command, path })));
  let depth = 0;
  while (
    depth < argv.length &&
    calls.some(({ path }) => path.length > depth && startsWith(path, argv.slice(0, depth + 1)))
  )
    depth++;
  const words = argv.slice(0, depth);
  const reached = calls.filter(({ path }) => startsWith(path, words));
  return {
    words,
    command: reached.find(({ path }) => path.length === depth)?.command,
    beyond: reached
      .filter(({ path }) => path.length > depth)
      .map(({ command, path }) => ({ command, more: path.slice(depth) })),
  };
}
