import type { CommandClass } from "clipanion";
import { type SealiftError, usageError } from "../../lib/contract/errors.ts";
import { closestTo } from "../../lib/support/suggestion.ts";
import { type CommandFacts, commandFacts, type OptionFacts } from "./facts.ts";
import { usageLine } from "./help.ts";
import { type CommandPlace, commandPlace } from "./place.ts";
import { meantBy, misspeltVerb, mostWrongLetters } from "./synonyms.ts";

/**
 * Explains why a command line cannot be run: what is unknown or missing, what was probably meant, and how the command
 * is called.
 */
export function diagnose(
  program: string,
  commands: readonly CommandClass[],
  argv: readonly string[],
  otherwise: string,
): SealiftError {
  const place = commandPlace(commands, argv);
  if (place.command === undefined) return unknownCommand(program, commands, place, argv);
  const call = [program, ...place.words].join(" ");
  const facts = commandFacts(place.command);
  const faults = faultsOf(facts, argv.slice(place.words.length));
  return usageError("usage", (faults.length === 0 ? [otherwise] : faults).join("\n  "), {
    ...(faults.length > 1 && { faults }),
    hint: `Usage: ${usageLine(call, facts)}\n  \`${call} --help\` explains the options.`,
  });
}

function unknownCommand(
  program: string,
  commands: readonly CommandClass[],
  { words, beyond }: CommandPlace,
  argv: readonly string[],
): SealiftError {
  const call = [program, ...words].join(" ");
  const next = argv[words.length];
  const list = words.length === 0 ? undefined : alternatives(beyond.map(({ more }) => more.join(" ")));
  const help =
    words.length === 0 ? `\`${call} --help --all\` lists the commands.` : `\`${call} --help\` explains them.`;
  if (next === undefined || next.startsWith("-")) {
    const needs = list === undefined ? "The command comes first." : `${call} needs one more word: ${list}.`;
    return usageError("usage", needs, { hint: help });
  }
  const names = commands.flatMap(({ paths = [] }) => paths.map((path) => path.join(" ")));
  const meant = commandsMeant(argv, names).map((name) => `\`${program} ${name}\``);
  const hints = [meant.length === 0 ? undefined : `Did you mean ${meant.join(" or ")}?`, help];
  const known = list === undefined ? "" : ` ${call} knows ${list}.`;
  return usageError("usage", `Unknown command: ${[...words, next].join(" ")}.${known}`, {
    hint: hints.filter((hint) => hint !== undefined).join(" "),
  });
}

/** Returns the commands that were probably meant, by the meaning of the words, or else by their spelling. */
function commandsMeant(argv: readonly string[], names: readonly string[]): string[] {
  const end = argv.findIndex((word) => word.startsWith("-"));
  const byMeaning = meantBy(argv.slice(0, end < 0 ? undefined : end), names);
  return byMeaning.length > 0 ? byMeaning : [closestCall(argv, names)].filter((name) => name !== undefined);
}

/**
 * Returns the command whose words are nearest to the first ones of the line; for a group's name alone, the group. A
 * command with these very words after others, such as `hub quota list` for `quota list`, is nearest.
 */
function closestCall(argv: readonly string[], names: readonly string[]): string | undefined {
  const end = argv.findIndex((word) => word.startsWith("-"));
  const line = argv.slice(0, end < 0 ? undefined : end).join(" ");
  const inside = names.find((name) => ` ${name} `.includes(` ${line} `));
  if (inside !== undefined) return inside.slice(0, ` ${inside} `.indexOf(` ${line} `) + line.length);
  const [noun = "", verb] = line.split(" ");
  // The message lists the verbs of a group.
  if (verb !== undefined && names.some((name) => name.startsWith(`${noun} `))) return misspeltVerb(noun, verb, names);
  for (const length of [3, 2, 1]) {
    const given = argv.slice(0, length);
    if (given.length < length || given.some((word) => word.startsWith("-"))) continue;
    const starts = names.map((name) => name.split(" ").slice(0, length));
    const found = closestTo(
      given.join(" "),
      new Set(starts.filter((s) => s.length === length).map((s) => s.join(" "))),
      mostWrongLetters,
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Options known from other programs, which take a value, with advice. */
const ELSEWHERE: Readonly<Record<string, string>> = { "--jq": "Pipe --json to jq." };

/** Matches the beginning of a key, credential or token made by a hub, or by a host for itself. */
const SECRET = /^(?:slk|sdc|sjt)_/;

/** Returns advice about a secret in the arguments, without repeating it. */
function asFile(options: readonly OptionFacts[]): string {
  const files = options.filter(({ isSecretFile }) => isSecretFile).map(({ name }) => `${name} PATH`);
  const ways =
    files.length === 0 ? "" : ` Give it as ${alternatives(files)} (- is standard input), or in the environment.`;
  return `A secret stands in the arguments, which other users of this machine can see.${ways}`;
}

/** Lists everything that is wrong with the words after the command. */
function faultsOf({ options, positionals }: CommandFacts, words: readonly string[]): string[] {
  const faults: string[] = [];
  const given: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (word === "--") {
      given.push(...words.slice(at + 1));
      break;
    }
    if (!word.startsWith("-") || word === "-") {
      given.push(word);
      continue;
    }
    const [name = ""] = word.split("=");
    const option = optionOf(options, name);
    if (option === undefined) {
      const value = word.includes("=") ? word.slice(name.length + 1) : words[at + 1];
      const argument = positionals.find((positional) => positional.name.toLowerCase() === name.slice(2));
      if (argument !== undefined) {
        faults.push(`Unknown option: ${name}. ${argument.name} stands without it, in its place.`);
        if (value !== undefined) given.push(value);
        if (!word.includes("=")) at++;
        continue;
      }
      const meant = closestOption(name, options);
      const advice =
        ELSEWHERE[name] ??
        (value !== undefined && SECRET.test(value) ? asFile(options) : undefined) ??
        (meant && `Did you mean ${meant.name}?`);
      faults.push(`Unknown option: ${name}.${advice === undefined ? "" : ` ${advice}`}`);
      // The next word is its value, not an argument.
      if ((name in ELSEWHERE || meant?.takesValue === true) && !word.includes("=")) at++;
    } else if (option.takesValue && !word.includes("=")) {
      at++;
      if (at >= words.length) faults.push(`${name} needs a value: ${option.values.join("|") || option.metavar}.`);
    }
  }
  const needed = positionals.filter(({ required }) => required).map(({ name }) => name);
  const missing = needed.slice(given.length);
  if (missing.length > 0) faults.push(`${missing.join(" and ")} ${missing.length === 1 ? "is" : "are"} missing.`);
  const most = positionals.some(({ rest }) => rest) ? Infinity : positionals.length;
  const isSecret = given.slice(most).some((word) => SECRET.test(word));
  if (isSecret) faults.push(asFile(options));
  else if (given.length > most)
    faults.push(
      `Unexpected argument${given.length > most + 1 ? "s" : ""}: ${given.slice(most).join(" ")}.${asVersion(options, given.slice(most))}`,
    );
  return faults;
}

/** Returns advice about a version where an option should be. */
function asVersion(options: readonly OptionFacts[], [word = "", ...others]: readonly string[]): string {
  const isVersion = others.length === 0 && /^v?\d+\.\d/.test(word) && options.some(({ name }) => name === "--version");
  return isVersion ? ` Did you mean --version ${word}?` : "";
}

/** Finds an option by its name, or by the one that turns it on or off. */
const optionOf = (options: readonly OptionFacts[], name: string): OptionFacts | undefined =>
  options.find((option) => option.name === name || option.alias === name) ??
  options.find(({ name: known, takesValue }) => !takesValue && opposite(known) === name);

const opposite = (name: string): string => (name.startsWith("--no-") ? `--${name.slice(5)}` : `--no-${name.slice(2)}`);

function closestOption(name: string, options: readonly OptionFacts[]): OptionFacts | undefined {
  const word = name.slice(2);
  const meant = closestTo(
    word,
    options.map((option) => option.name.slice(2)),
  );
  const parts = options.filter((option) => option.name.slice(2).split("-").includes(word));
  return (
    options.find((option) => option.name === `--${meant}`) ?? parts.find(({ required }) => required) ?? parts.at(0)
  );
}

/** Joins words: `a, b or c`, each once, in alphabetical order. */
function alternatives(words: readonly string[]): string {
  const all = [...new Set(words)].toSorted();
  return all.length === 1 ? all[0]! : `${all.slice(0, -1).join(", ")} or ${all.at(-1)!}`;
}
