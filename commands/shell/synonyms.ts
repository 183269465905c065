/**
 * Maps words known from other programs to commands, for a line that calls none; a word of its own (`yank`) and a verb
 * behind a noun (`key delete`) both count. Several commands are offered for an ambiguous word.
 */

/** Verbs with the same meaning, with those that commands use. */
const VERBS: readonly (readonly string[])[] = [
  ["delete", "remove", "rm", "destroy", "drop", "del", "uninstall", "revoke", "retire", "forget"],
  ["show", "status", "get", "describe", "info", "inspect", "view", "list", "ls"],
  ["list", "ls", "show", "all", "index"],
  ["create", "add", "new", "make", "register", "invite", "start", "init"],
  ["start", "begin", "launch", "run", "serve", "create"],
  ["pause", "stop", "hold", "suspend"],
  ["abort", "cancel", "stop", "end", "kill"],
  ["resume", "continue", "unpause", "restart"],
  ["approve", "accept", "allow", "confirm", "promote"],
  ["publish", "push", "upload", "release", "deploy"],
  ["deploy", "install", "pull", "apply", "upgrade", "update"],
  ["rename", "mv", "move", "update", "edit"],
  ["rotate", "renew", "replace", "refresh"],
  ["yank", "withdraw", "unpublish", "recall", "hide", "delete"],
  ["unyank", "restore"],
  ["search", "find", "query", "browse"],
];

/** Commands that a word alone suggests, the likeliest first. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  abort: ["rollout abort"],
  add: ["project create", "key create"],
  apply: ["project deploy", "watch"],
  approve: ["rollout approve", "host approve"],
  backup: ["hub backup"],
  build: ["project publish", "plugin pack"],
  cancel: ["rollout abort"],
  check: ["doctor", "plan validate"],
  compare: ["version diff", "diff"],
  config: ["context list", "docs"],
  create: ["project create", "key create"],
  del: ["project delete", "version delete", "remove"],
  delete: ["project delete", "version delete", "remove"],
  deprecate: ["version deprecate"],
  describe: ["status", "version list", "rollout show"],
  destroy: ["project delete", "remove"],
  download: ["project deploy", "marketplace deploy"],
  enroll: ["join"],
  export: ["hub backup"],
  find: ["marketplace search"],
  follow: ["watch"],
  get: ["version list", "status"],
  halt: ["rollout pause"],
  info: ["status", "version list"],
  init: ["app init", "plugin init", "watch init"],
  inspect: ["status", "artifact open"],
  install: ["marketplace deploy", "project deploy", "watch"],
  invite: ["host invite"],
  list: ["project list", "version list", "fleet"],
  log: ["logs", "history", "audit list"],
  ls: ["project list", "version list", "fleet"],
  migrate: ["hub move"],
  new: ["project create", "plugin init", "app init"],
  pack: ["plugin pack"],
  pause: ["rollout pause", "watch pause"],
  promote: ["version release", "rollout approve"],
  ps: ["status", "fleet"],
  publish: ["project publish", "plugin publish", "marketplace publish"],
  pull: ["project deploy", "marketplace deploy"],
  push: ["project publish", "plugin publish"],
  quarantine: ["status", "watch retry"],
  register: ["project create", "login"],
  release: ["project publish", "version release"],
  releases: ["releases", "version list"],
  rename: ["project rename"],
  restart: ["watch redeploy"],
  resume: ["rollout resume", "watch resume"],
  retry: ["watch retry"],
  revert: ["rollback"],
  revoke: ["key revoke", "signer revoke"],
  rm: ["remove", "version delete", "project delete"],
  run: ["runtime serve", "watch", "plugin dev"],
  search: ["marketplace search"],
  serve: ["hub serve", "runtime serve"],
  show: ["status", "version list", "rollout show"],
  sign: ["marketplace sign"],
  signin: ["login"],
  start: ["rollout start", "hub serve", "watch"],
  stop: ["rollout pause", "watch pause"],
  sync: ["watch"],
  test: ["plugin test", "webhook test"],
  token: ["key create", "host invite"],
  undo: ["rollback"],
  uninstall: ["remove"],
  unpublish: ["version yank"],
  unyank: ["version unyank"],
  update: ["upgrade", "project deploy"],
  upload: ["project publish", "plugin publish"],
  user: ["key list"],
  users: ["key list"],
  validate: ["plan validate"],
  verify: ["artifact open", "hub verify"],
  versions: ["version list"],
  wait: ["fleet wait", "rollout wait"],
  whoami: ["context show"],
  why: ["doctor"],
  withdraw: ["version yank"],
  yank: ["version yank"],
};

/** Commands for a noun with a verb that it lacks, and that none of its own verbs expresses. */
const PHRASES: Readonly<Record<string, readonly string[]>> = {
  "host add": ["host invite", "join"],
  "host create": ["host invite", "join"],
  "host label": ["fleet label"],
  "host show": ["host list", "fleet"],
  "host status": ["host list", "fleet"],
  "marketplace delete": ["version delete"],
  "marketplace install": ["marketplace deploy"],
  "marketplace list": ["marketplace search"],
  "marketplace unyank": ["version unyank"],
  "plugin deploy": ["marketplace deploy"],
  "plugin install": ["marketplace deploy"],
  "plugin list": ["marketplace search", "project list"],
  "plugin remove": ["remove"],
  "plugin yank": ["version yank"],
  "project show": ["project list", "version list"],
  "project status": ["fleet", "version list"],
  "project yank": ["version yank"],
  "service install": ["marketplace deploy"],
  "version publish": ["project publish", "plugin publish"],
  "version rollback": ["rollback"],
};

/** Other names that people use for Sealift's terms. */
const NOUNS: Readonly<Record<string, string>> = {
  apikey: "key",
  hook: "webhook",
  machine: "host",
  node: "host",
  package: "plugin",
  permission: "grant",
  quota: "hub quota",
  server: "hub",
  token: "key",
};

/**
 * Returns the commands that a line which calls none probably means, the likeliest first; none without a known word.
 *
 * @param words before the first option
 * @param names of all commands
 */
export function meantBy(words: readonly string[], names: readonly string[]): string[] {
  const [first = "", second = ""] = words;
  const known = new Set(names);
  const noun = [first.replace(/s$/, ""), first, NOUNS[first.replace(/s$/, "")] ?? ""].find((each) =>
    names.some((name) => each !== "" && name.startsWith(`${each} `)),
  );
  if (noun !== undefined && second !== "") {
    const phrase = (PHRASES[`${noun} ${second}`] ?? []).filter((name) => known.has(name));
    if (phrase.length > 0) return phrase;
    if (known.has(`${noun} ${second}`)) return [`${noun} ${second}`];
    const groups = VERBS.filter((group) => group.includes(second));
    const verbs = groups.flatMap((group) => group.filter((verb) => known.has(`${noun} ${verb}`)));
    return [...new Set(verbs)].slice(0, 2).map((verb) => `${noun} ${verb}`);
  }
  // A word that belongs to a group (`hub quota`) is not a verb.
  if (names.some((name) => name.startsWith(`${first} `)) && second !== "") return [];
  return (Object.hasOwn(WORDS, first) ? WORDS[first]! : []).filter((name) => known.has(name));
}

/** Returns every command that a synonym can suggest, in addition to those with a noun's own verb. */
export const offeredCommands = (): string[] => [...Object.values(WORDS), ...Object.values(PHRASES)].flat();
