import { readFileSync } from "node:fs";

/**
 * Returns the words of the commands that a file of `commands/` declares, such as `app env`: those of its classes, and
 * the verbs of its nouns. Reads the text, since a file under work may not load.
 */
export function commandsIn(file: string): string[] {
  const text = readFileSync(file, "utf8");
  const classes = [...text.matchAll(/ paths = (\[\["[^;]*"\]\]);/g)].flatMap(([, paths]) =>
    (JSON.parse(paths!) as string[][]).map((words) => words.join(" ")),
  );
  const verbs = [...text.matchAll(/(\w+) = resource\("([a-z-]+)"/g)].flatMap(([, name, noun]) => {
    const called = new RegExp(`(?:\\b${name}|${name} = resource\\([^;]*?\\))\\("([a-z-]+)"`, "g");
    return [...text.matchAll(called)].map(([, verb]) => `${noun} ${verb}`);
  });
  return [...new Set([...classes, ...verbs])];
}

/**
 * Returns those of some commands that a text types: as words of one line, or as strings of a list. One of a single word
 * counts as the first string of a list only, since it is mostly an ordinary word.
 */
export function typedIn(text: string, commands: ReadonlySet<string>): Set<string> {
  const words = text.split(/["'`,\s[\](){}$]+/);
  const found = new Set(
    words.flatMap((word, at) => [`${word} ${words[at + 1]}`, `${word} ${words[at + 1]} ${words[at + 2]}`]),
  );
  for (const [, word] of text.matchAll(/[[(]\s*"([a-z-]+)"/g)) found.add(word!);
  return commands.intersection(found);
}
