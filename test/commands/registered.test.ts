// Holds: every command is registered (commands/shell/registry.ts)
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { COMMANDS } from "../../commands/shell/registry.ts";
import { WATCH_ACTIONS } from "../../lib/agent/watch/events.ts";

const FOLDER = join(import.meta.dirname, "../../commands");

/** Returns the words that call each command of a source file, as its classes and the verbs of its resources say. */
function declaredIn(text: string): string[] {
  const classes = [...text.matchAll(/static override paths = \[\[("[^\]]+)\]/g)].map(([, words]) =>
    (JSON.parse(`[${words}]`) as string[]).join(" "),
  );
  const makers = [...text.matchAll(/const (\w+) = resource\("([\w-]+)"/g)];
  const verbs = makers.flatMap(([, maker, noun]) =>
    [...text.matchAll(new RegExp(`\\b${maker}\\(\\s*"([\\w-]+)"`, "g"))].map(([, verb]) => `${noun} ${verb}`),
  );
  const alone = [...text.matchAll(/= resource\("([\w-]+)"[^()]*\)\(\s*"([\w-]+)"/g)].map(
    ([, noun, verb]) => `${noun} ${verb}`,
  );
  return [...classes, ...verbs, ...alone];
}

t.test("every command that a file of commands/ declares is registered", (t) => {
  const declared = globSync("**/*.ts", { cwd: FOLDER }).flatMap((file) =>
    declaredIn(readFileSync(join(FOLDER, file), "utf8")).map((words) => `${words} (commands/${file})`),
  );
  const registered = new Set(COMMANDS.map(({ paths }) => paths![0]!.join(" ")));
  const wordsOf = (found: string): string => found.replace(/ \(.*/, "");
  t.strictSame(
    declared.filter((found) => !registered.has(wordsOf(found))),
    [],
    "commands/shell/registry.ts, or the feature's own list, has no such command",
  );
  const found = new Set([...declared.map(wordsOf), `watch ${WATCH_ACTIONS[0]}`]);
  t.strictSame(
    [...registered].filter((words) => !found.has(words)),
    [],
    "this test finds every form in which commands are declared",
  );
  t.end();
});
