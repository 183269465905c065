import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import t from "tap";
import { commandFacts } from "../../commands/shell/facts.ts";
import { commandHelp } from "../../commands/shell/help.ts";
import { COMMANDS } from "../../commands/shell/registry.ts";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("../../dist/bin/sealift.js", import.meta.url));
const help = async (...words: string[]): Promise<string> =>
  (await run(process.execPath, [PROGRAM, ...words, "--help"], { env: { PATH: process.env.PATH } })).stdout;

/** Without the line breaks. */
const words = (text: string): string => text.split(/\s+/).join(" ");

t.test("the overview has a line for every command, and fits", async (t) => {
  const overview = await help("--all");
  for (const { usage } of COMMANDS) t.ok(words(overview).includes(usage!.description!), usage!.description!);
  t.ok(overview.split("\n").every((line) => line.length <= 80));
});

t.test("the first screen names what people begin with, and fits a terminal of 80 by 24", async (t) => {
  const screen = await help();
  const lines = screen.split("\n");
  t.ok(lines.length <= 24, `${lines.length} lines with that of the prompt`);
  t.ok(lines.every((line) => line.length <= 80));
  t.match(screen, /^ {2}project publish {2}Build, sign and publish a project$/m);
  t.match(screen, /`sealift --help --all`/);
  for (const words of ["watch", "fleet", "rollout start", "app init", "plugin init", "hub serve"])
    t.match(screen, new RegExp(`^ {2}${words} {2}`, "m"));
});

t.test("help breaks its lines between words only", (t) => {
  for (const command of COMMANDS) {
    const name = command.paths![0]!.join(" ");
    const shown = (width: number): string =>
      words(commandHelp("sealift", name, commandFacts(command), width).replaceAll(" \\\n", "\n")).trim();
    const whole = shown(10_000);
    for (const width of [60, 80, 100]) t.equal(shown(width), whole, name);
  }
  t.end();
});

t.test("every command explains its options by words", async (t) => {
  // The program's own way to that text, once: a start for each of all commands would take a minute.
  const list = COMMANDS.find(({ paths }) => paths?.some((path) => path.join(" ") === "key list"))!;
  t.equal(await help("key", "list"), commandHelp("sealift", "key list", commandFacts(list), 80));
  for (const command of COMMANDS) {
    const { paths = [], usage } = command;
    const text = commandHelp("sealift", paths[0]!.join(" "), commandFacts(command), 80);
    t.ok(text.startsWith(usage!.description!), paths[0]!.join(" "));
    t.notMatch(text, /#\d/, "no value is called by a number");
    t.match(text, /--config PATH/);
    t.ok(
      text.split("\n").every((line) => line.length <= 80),
      `${paths[0]!.join(" ")} fits 80 columns`,
    );
  }
});
