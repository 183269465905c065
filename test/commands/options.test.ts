import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Cli, type CommandClass } from "clipanion";
import t, { type Test } from "tap";
import type { SealiftCommand } from "../../commands/shell/base.ts";
import { commandFacts } from "../../commands/shell/facts.ts";
import { COMMANDS } from "../../commands/shell/registry.ts";
import { optionsByName } from "../../lib/options/all.ts";
import { type Option, type OptionTable, variableOf, yamlKeyOf } from "../../lib/options/option.ts";

/** "Every option is a flag, an environment variable or a key of sealift.yaml", for every option of every command. */

type Command = Omit<SealiftCommand, never> & { resolve(): Promise<void>; options: Record<string, unknown> };

/** Options that name a file or a context, whose content would count: they have tests of their own. */
const OF_FILES = new Set(["config", "context"]);

const tableOf = (command: CommandClass): OptionTable => (command as unknown as { table: OptionTable }).table;
const nameOf = ({ paths }: CommandClass): string => paths![0]!.join(" ");

/** A value that is none of the option's default, and that every form accepts. */
function sampleOf(option: Option): string {
  if (option.choices.length > 0) return option.choices.find((word) => word !== option.default)!;
  const byName: Record<string, string> = {
    mirror: "http://mirror.example",
    "root-sources": "https://roots.example",
    "project-id": "prj_0123456789abcdef",
    sha256: "ab".repeat(32),
    issuer: "https://issuer.example.org",
    claim: "repository_id=41",
    version: "1.2.3",

    repo: "acme/tides@v1",
    "import-host": "gitea=https://git.example.org",
    "git-token": "git.example.org=token",
    "health-url": "http://127.0.0.1:3000/healthz",
    platform: "linux-arm64",
    payload: '{"a":1}',
    expires: "90d",
    "public-url": "https://hub.example.org",
    label: "env=prod",
    min: "50%",
    "memory-max": "512M",
    cpu: "1.5",
    tasks: "100",
    "max-failing": "7%",
    "min-done": "50%",
    waves: "env=canary,100%",
    "trusted-proxy": "10.0.0.0/8",
    "web-oidc-grant": "ops=acme:read+publish:prj_1",
    fields: "a,b",
    since: "2026-11-01T00:00:00Z",
    until: "2026-11-02T00:00:00Z",
  };
  const byKind: Partial<Record<Option["kind"], string>> = {
    flag: option.default === true ? "no" : "yes",
    number: "7",
    size: "7M",
    duration: "7m",
    url: "http://other.example",
  };
  const byMetavar: Record<string, string> = { "HOST:PORT": "127.0.0.1:1", "NAME=ADDRESS": "http=127.0.0.1:3000" };
  return byName[option.name] ?? byMetavar[option.metavar] ?? byKind[option.kind] ?? "sample";
}

const expected = (option: Option): unknown =>
  option.parse(option.kind === "list" ? [sampleOf(option)] : sampleOf(option));

/** The command as the command line makes it, with its options resolved in this folder and environment. */
async function resolved(
  t: Test,
  command: CommandClass,
  place: { flags?: string[]; environment?: Record<string, string>; file?: string },
): Promise<Record<string, unknown>> {
  const folder = t.testdir({ "watch.yaml": "targets: [{target: 'plugin:a'}]\n" });
  writeFileSync(join(folder, "sealift.yaml"), place.file ?? "{}");
  const before = { cwd: process.cwd(), environment: { ...process.env } };
  process.chdir(folder);
  for (const name of Object.keys(process.env)) if (name.startsWith("SEALIFT_")) delete process.env[name];
  Object.assign(process.env, place.environment);
  try {
    const cli = new Cli();
    cli.register(command);
    const words = commandFacts(command).positionals.filter(({ required }) => required);
    const argv = [
      ...command.paths![0]!,
      ...words.map(({ name }) => (name === "TARGET" ? "plugin:word" : "word")),
      ...(place.flags ?? []),
    ];
    const made = cli.process(argv, Cli.defaultContext) as unknown as Command;
    await made.resolve();
    return made.options;
  } finally {
    process.chdir(before.cwd);
    process.env = before.environment;
  }
}

/** Options that the command reads here: its own, without secrets that a condition keeps it from reading. */
const readable = (table: OptionTable, values: Record<string, unknown>): [string, Option][] =>
  Object.entries(table).filter(
    ([key, option]) =>
      !OF_FILES.has(key) && (option.fromBytes === undefined || option.requiredWhen?.(values) !== false),
  );

const samples = (table: OptionTable): [Option, string][] =>
  Object.values(table)
    .filter(({ name }) => !OF_FILES.has(name))
    .map((option) => [option, option.name === "watch-config" ? "watch.yaml" : sampleOf(option)]);

const places: Record<string, (table: OptionTable) => Parameters<typeof resolved>[2]> = {
  "its flag": (table) => ({
    flags: samples(table).flatMap(([{ kind, flag, name, fileOnly }, value]) => {
      if (kind === "flag") return value === "no" ? [flag.replace("--", "--no-")] : [flag];
      return fileOnly ? [] : [name === "watch-config" ? "--config" : flag, value];
    }),
    environment: Object.fromEntries(
      samples(table).flatMap(([{ fileOnly, name }, value]) => (fileOnly ? [[variableOf(name), value]] : [])),
    ),
  }),
  "its variable": (table) => ({
    environment: Object.fromEntries(samples(table).map(([{ name }, value]) => [variableOf(name), value])),
  }),
  "its key in sealift.yaml": (table) => ({
    environment: { SEALIFT_TRUST_FOLDER: "yes" },
    file: samples(table)
      // watch.yaml takes the place of this file.
      .filter(([{ name }]) => name !== "watch-config")
      .map(([{ name }, value]) => `${yamlKeyOf(name)}: ${JSON.stringify(value)}\n`)
      .join(""),
  }),
};

for (const command of COMMANDS) {
  const table = tableOf(command);
  for (const [place, given] of Object.entries(places)) {
    t.test(`${nameOf(command)} takes each option from ${place}`, async (t) => {
      const values = await resolved(t, command, given(table));
      for (const [key, option] of readable(table, values)) {
        if (option.name === "watch-config") continue;
        const actual = values[key];
        // A span of time counts from now, which goes on meanwhile.
        if (actual instanceof Date)
          t.ok(Math.abs(actual.getTime() - (expected(option) as Date).getTime()) < 60_000, key);
        else t.same(actual, expected(option), key);
      }
    });
  }
}

t.test("every command that takes something away can tell what would go", (t) => {
  const removes = /remove|delete|revoke|retire|retain|forget|transfer|logout|rotate-kek/;
  const removing = COMMANDS.filter((command) =>
    removes.test([nameOf(command), ...Object.keys(tableOf(command))].join()),
  );
  t.ok(removing.length >= 14);
  for (const command of removing) t.ok("dryRun" in tableOf(command), nameOf(command));
  t.end();
});

t.test("every option of every command is known to sealift.yaml and to the documents", async (t) => {
  const known = optionsByName();
  for (const command of COMMANDS)
    for (const option of Object.values(tableOf(command)))
      t.ok(
        known.get(option.name)?.some(({ help }) => help === option.help),
        `${nameOf(command)} --${option.name}`,
      );
});

t.test("help texts are short phrases, and names are used for one kind of thing", async (t) => {
  for (const [name, options] of optionsByName()) {
    for (const { help } of options) t.ok(help !== "" && help.length <= 60, `${name}: ${help}`);
    t.equal(new Set(options.map(({ secret }) => secret)).size, 1, name);
  }
});
