import type { Application } from "./application.ts";

/** Returns the names of all addresses of an application, those of handed-over sockets first. */
export const addressNames = ({ listen, ports }: Pick<Application, "listen" | "ports">): string[] => [
  ...listen,
  ...ports,
];

/** Returns the name of the address that answers an application's health path; undefined without such a path. */
export const healthSocket = (app: Application): string | undefined =>
  app.health.http === undefined ? undefined : (app.health.port ?? addressNames(app)[0]);

/** Ends of the variables of each address of an application: the first has `PORT` and `HOST`, too. */
export const variableEnds = (names: readonly string[]): [name: string, end: string][] =>
  names.flatMap((name, index) => {
    const own: [string, string] = [name, `_${name.toUpperCase().replaceAll("-", "_")}`];
    return index === 0 ? [[name, ""], own] : [own];
  });

/** Returns the names of the variables that tell an application its addresses: `PORT`, `HOST`, `PORT_METRICS`. */
export const addressVariables = (names: readonly string[]): ReadonlySet<string> =>
  new Set(variableEnds(names).flatMap(([, end]) => [`PORT${end}`, `HOST${end}`]));

/** Variable in a word of a command, such as `$PORT`: the longest name counts, so `$PORTAL` is none of an address. */
const VARIABLE = /\$([A-Za-z_][A-Za-z0-9_]*)/g;
/** Form of the names of such variables. */
const OF_AN_ADDRESS = /^(?:PORT|HOST)(?:_[A-Z0-9_]+)?$/;

/** Part of a word: text, or the name of a variable whose value stands there. */
export type WordPart = { text: string } | { variable: string };

/** Takes a word of a command apart. Only variables of addresses count; every other `$` is text. */
export function wordParts(word: string, variables: ReadonlySet<string>): WordPart[] {
  const parts: WordPart[] = [];
  let begin = 0;
  for (const match of word.matchAll(VARIABLE)) {
    const [whole, name] = match as unknown as [string, string];
    if (!variables.has(name)) continue;
    if (match.index > begin) parts.push({ text: word.slice(begin, match.index) });
    parts.push({ variable: name });
    begin = match.index + whole.length;
  }
  if (begin < word.length || parts.length === 0) parts.push({ text: word.slice(begin) });
  return parts;
}

/**
 * Returns the variables in words that read like those of addresses and are none. Names that the application reads as
 * settings are text for its own shell.
 */
export const unknownVariables = (
  words: readonly string[],
  variables: ReadonlySet<string>,
  settings: readonly string[],
): string[] => [
  ...new Set(
    words
      .flatMap((word) => [...word.matchAll(VARIABLE)].map(([, name]) => name!))
      .filter((name) => OF_AN_ADDRESS.test(name) && !variables.has(name) && !settings.includes(name)),
  ),
];

/** Returns the names of the addresses whose variables stand in words: `smtp` for `$PORT_SMTP`. */
export const namedAddresses = (words: readonly string[]): string[] => [
  ...new Set(
    unknownVariables(words, new Set(), []).flatMap((variable) => {
      const name = variable
        .replace(/^(?:PORT|HOST)_?/, "")
        .toLowerCase()
        .replaceAll("_", "-");
      return /^[a-z]/.test(name) ? [name] : [];
    }),
  ),
];
