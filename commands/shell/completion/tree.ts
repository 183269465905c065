import type { CommandFacts, OptionFacts } from "../facts.ts";
import { specOf } from "./question.ts";

/** The words and options that may follow one path, of which the empty one is the program itself. */
export interface CompletionPlace {
  path: string;
  /** Words that lead on from here, with what they are for. */
  words: readonly { word: string; description: string }[];
  /** Empty where the words do not make a command yet. */
  options: readonly OptionFacts[];
  /** Describes the command to `sealift __complete`; empty where that has nothing to offer. */
  spec: string;
}

/** The programs that are one command of `sealift`, and its words. */
export const ROLES: Readonly<Record<string, string>> = {
  "deploy-marketplace": "deploy-marketplace",
  "deploy-project": "deploy-project",
  "deploy-publish": "deploy-publish",
  "deploy-watch": "watch",
  "hub-serve": "hub-serve",
  "runtime-serve": "runtime-serve",
};

/** Every place that the words of the commands lead to. */
export function placesOf(commands: readonly CommandFacts[]): CompletionPlace[] {
  const calls = commands.flatMap((facts) =>
    facts.paths.map((words) => ({
      words,
      description: facts.description,
      options: facts.options,
      spec: specOf(facts),
    })),
  );
  const paths = new Set(calls.flatMap(({ words }) => words.map((_word, index) => words.slice(0, index + 1).join(" "))));
  return ["", ...[...paths].toSorted()].map((path) => {
    const depth = path === "" ? 0 : path.split(" ").length;
    const beyond = calls.filter(({ words }) => words.length > depth && words.slice(0, depth).join(" ") === path);
    const words = new Map<string, string>();
    for (const { words: call, description } of beyond) {
      const word = call[depth]!;
      words.set(word, call.length === depth + 1 ? description : (words.get(word) ?? `${word} …`));
    }
    const called = calls.find((call) => call.words.join(" ") === path);
    return {
      path,
      words: [...words].map(([word, description]) => ({ word, description })),
      options: called?.options ?? [],
      spec: called?.spec ?? "",
    };
  });
}
