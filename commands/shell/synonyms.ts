import { closestTo } from "../../lib/support/suggestion.ts";

/**
 * Maps words that people bring from other programs to commands, for a line that calls none. A word of its own
 * (`yank`) and a verb behind a noun (`key delete`) both count.
 */

/** Verbs that mean the same, with those that commands use. */
const VERBS: readonly (readonly string[])[] = [
  ["delete", "remove", "rm", "destroy", "uninstall", "revoke", "retire"],
  ["show", "status", "get", "describe", "info", "list"],
  ["list", "ls", "show"],
  ["create", "add", "new", "invite", "init"],
  ["start", "run", "up", "reload", "restart", "serve", "dev"],
  ["pause", "stop"],
  ["abort", "cancel", "stop"],
];

/** Commands that a word suggests, the likeliest first. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  add: ["project create", "key create"],
  create: ["project create", "key create"],
  delete: ["project delete", "version delete", "remove"],
  describe: ["status", "version list", "rollout show"],
  init: ["app init", "plugin init", "watch init"],
  install: ["marketplace deploy", "project deploy", "watch"],
  keygen: ["signer create"],
  list: ["project list", "version list", "fleet"],
  log: ["logs", "history", "audit list"],
  ls: ["project list", "version list", "fleet"],
  publish: ["project publish", "plugin publish", "marketplace publish"],
  pull: ["project deploy", "marketplace deploy"],
  push: ["project publish", "plugin publish"],
  restart: ["app restart", "watch redeploy"],
  rm: ["remove", "version delete", "project delete"],
  run: ["app serve", "runtime serve", "watch"],
  search: ["marketplace search"],
  start: ["app serve", "watch", "hub serve"],
  show: ["status", "version list", "rollout show"],
  undo: ["rollback"],
  uninstall: ["remove"],
  update: ["upgrade", "project deploy"],
  wait: ["fleet wait", "rollout wait", "stage wait"],
  yank: ["version yank"],
};

/** Commands for a noun with a verb that none of its own verbs expresses. */
const PHRASES: Readonly<Record<string, readonly string[]>> = {
  "host add": ["host invite", "join"],
  "host invites": ["invite list"],
  "host revoke-invite": ["invite revoke"],
  "host show": ["host list", "fleet"],
  "invite add": ["host invite"],
  "invite create": ["host invite"],
  "invite new": ["host invite"],
  "invite remove": ["invite revoke"],
  "invite delete": ["invite revoke"],
  "marketplace yank": ["version yank"],
  "plugin install": ["marketplace deploy"],
  "rollout add": ["rollout start"],
  "rollout create": ["rollout start"],
  "rollout new": ["rollout start"],
  "rollout undo": ["rollout abort"],
};

/** Other names of nouns. */
const NOUNS: Readonly<Record<string, string>> = { apikey: "key", token: "key", machine: "host", node: "host" };

/**
 * Returns the commands that a line which calls none probably means, the likeliest first; none without a known word.
 *
 * @param words before the first option
 * @param names of all commands
 */
export function meantBy(words: readonly string[], names: readonly string[]): string[] {
  const [first = "", second = ""] = words;
  const known = new Set(names);
  const singular = first.replace(/s$/, "");
  const noun = [singular, first, NOUNS[singular] ?? ""].find((each) =>
    names.some((name) => each !== "" && name.startsWith(`${each} `)),
  );
  if (noun !== undefined && second !== "") {
    const phrase = (PHRASES[`${noun} ${second}`] ?? []).filter((name) => known.has(name));
    if (phrase.length > 0) return phrase;
    if (known.has(`${noun} ${second}`)) return [`${noun} ${second}`];
    const verbs = VERBS.filter((group) => group.includes(second)).flat();
    const own = new Set(verbs.filter((verb) => verb !== second && known.has(`${noun} ${verb}`)));
    return [...own].slice(0, 2).map((verb) => `${noun} ${verb}`);
  }
  // A word that belongs to a group (`hub quota`) is not a verb.
  if (names.some((name) => name.startsWith(`${first} `)) && second !== "") return [];
  return (Object.hasOwn(WORDS, first) ? WORDS[first]! : []).filter((name) => known.has(name));
}

/** Words with a meaning of their own: what they mean may not be there, and then no spelling is guessed. */
const MEANINGFUL = new Set([...VERBS.flat(), ...Object.keys(WORDS), "kill", "down", "halt", "set", "config"]);

/**
 * Returns the command of a group whose verb was probably misspelt; undefined where nothing is near. A verb is compared
 * alone: the letters of the group would make any verb near to another one.
 *
 * @param noun name of a group
 */
export function misspeltVerb(noun: string, verb: string, names: readonly string[]): string | undefined {
  const verbs = new Set(names.filter((name) => name.startsWith(`${noun} `)).map((name) => name.split(" ")[1]!));
  const begun = verb.length < 3 ? [] : [...verbs].filter((known) => known.startsWith(verb));
  if (begun.length === 1) return `${noun} ${begun[0]!}`;
  if (MEANINGFUL.has(verb)) return undefined;
  const lettersOf = (word: string): string => [...word].toSorted().join("");
  const most = (known: string): number => {
    const few = lettersOf(known) === lettersOf(verb) ? 2 : Math.max(1, Math.floor(known.length * 0.3));
    return Math.min(mostWrongLetters(`${noun} ${known}`), few);
  };
  const found = closestTo(verb, verbs, most);
  return found === undefined ? undefined : `${noun} ${found}`;
}

/** Last words of commands that take something away, or put it out of use. */
const TAKES_AWAY = /(?:^| )(?:abort|delete|forget|reject|remove|retire|revoke|rollback|yank)$/;

/** Returns how many letters of a command may be wrong for it to be guessed: few, where a wrong guess does harm. */
export const mostWrongLetters = (name: string): number => (TAKES_AWAY.test(name) ? 2 : 4);

/** Returns every command that a synonym can suggest, in addition to those with a noun's own verb. */
export const offeredCommands = (): string[] => [...Object.values(WORDS), ...Object.values(PHRASES)].flat();
