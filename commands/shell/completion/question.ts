import type { CommandFacts } from "../facts.ts";

/** Lists of words that only this host or a hub knows. */
export type WordList =
  | "contexts"
  | "hosts"
  | "kept-plugins"
  | "kept-targets"
  | "kept-versions"
  | "projects"
  | "slugs"
  | "targets"
  | "versions";

const KINDS: Readonly<Record<string, WordList>> = {
  ...{ A: "versions", B: "versions", VERSION: "versions", TARGET: "targets", SLUG: "slugs" },
  ...{ CONTEXT: "contexts", HOST: "hosts", PLUGIN: "kept-plugins", "--context": "contexts" },
  ...{ "--to RELEASE": "kept-versions", "--version VERSION": "versions" },
  ...{ "--project-id PROJECT": "projects", "--project PROJECT": "projects" },
};

/** Lists of this host, for a command that uses no hub. */
const KEPT: Partial<Record<WordList, WordList>> = { targets: "kept-targets", versions: "kept-versions" };

/** Matches commands whose `--version` is a new version, not a listed one. */
const NAMES_NEW_VERSION = /publish|consent/;

/**
 * Encodes in one word what a shell needs to ask for candidates: the kinds of the arguments in order, the kinds of
 * options, and the flags, which take no value. Empty where there are no candidates.
 */
export function specOf({
  paths,
  positionals,
  options,
}: Pick<CommandFacts, "paths" | "positionals" | "options">): string {
  const asksHub = options.some(({ name }) => name === "--hub-url");
  const kindOf = (name: string): WordList | undefined => {
    const kind = KINDS[name];
    return kind === undefined || asksHub ? kind : (KEPT[kind] ?? kind);
  };
  const slots = positionals.map(({ name, rest }) => `${kindOf(name) ?? "-"}${rest ? "*" : ""}`);
  const asked = options.flatMap(({ name, metavar }) => {
    if (name === "--version" && NAMES_NEW_VERSION.test(paths.flat().join(" "))) return [];
    const kind = kindOf(name) ?? kindOf(`${name} ${metavar}`);
    return kind === undefined ? [] : [`${name}=${kind}`];
  });
  if (asked.length === 0 && slots.every((slot) => slot.startsWith("-"))) return "";
  return [...slots, ...asked, ...options.filter(({ takesValue }) => !takesValue).map(({ name }) => name)].join(",");
}

/** Word to complete, and the words before it. */
export interface Question {
  kind: WordList;
  /** Beginning of the word. */
  start: string;
  /** Arguments before it. */
  before: readonly string[];
  /** Whether the first argument is a slug alone. */
  hasSlug: boolean;
  /** Values of the options before it, by their flags. */
  options: ReadonlyMap<string, string>;
}

/**
 * Parses the words of a command line after those of the command.
 *
 * @param spec as made by {@link specOf}
 * @param words of which the last one is completed
 * @returns undefined where no list is known
 */
export function questionOf(spec: string, words: readonly string[]): Question | undefined {
  const parts = spec.split(",");
  const slots = parts.filter((part) => !part.startsWith("--"));
  const flags = new Set(parts.filter((part) => part.startsWith("--") && !part.includes("=")));
  const kinds = new Map(parts.filter((part) => part.startsWith("--")).map(split));
  const options = new Map<string, string>();
  const before: string[] = [];
  let open: string | undefined;
  for (const word of words.slice(0, -1)) {
    if (open !== undefined) {
      options.set(open, word);
      open = undefined;
    } else if (!word.startsWith("--")) before.push(word);
    else if (word.includes("=")) options.set(...split(word));
    else if (!flags.has(word)) open = word;
  }
  const last = words.at(-1) ?? "";
  const [name, start] = open === undefined && last.startsWith("--") ? split(last) : [open, last];
  const slot = slots[before.length] ?? slots.findLast((candidate) => candidate.endsWith("*")) ?? "-";
  const kind = name === undefined ? slot.replace("*", "") : kinds.get(name);
  if (kind === undefined || kind === "" || kind === "-") return undefined;
  return { kind: kind as WordList, start, before, hasSlug: slots[0] === "slugs", options };
}

const split = (text: string): [name: string, value: string] => {
  const at = text.indexOf("=");
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
};
