import type { CommandFacts, OptionFacts } from "../facts.ts";
import { specOf } from "./question.ts";

/** Words and options that may follow one path; the empty path is the program itself. */
export interface CompletionPlace {
  path: string;
  /** Words that continue the path, with descriptions. */
  words: readonly { word: string; description: string }[];
  /** Empty where the words do not form a command yet. */
  options: readonly OptionFacts[];
  /** Describes the command to `sealift __complete`; empty without candidates. */
  spec: string;
}

/** Programs that are one command of `sealift`, with its words. */
export const ROLES: Readonly<Record<string, string>> = {
  "deploy-marketplace": "deploy-marketplace",
  "deploy-project": "deploy-project",
  "deploy-publish": "deploy-publish",
  "deploy-watch": "watch",
  "hub-serve": "hub-serve",
  "runtime-serve": "runtime-serve",
};

/** Returns every place that the words of the commands lead to. */
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
