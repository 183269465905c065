import { format } from "prettier";
import { allCommandFacts } from "../commands/shell/facts.ts";
import { COMMANDS } from "../commands/shell/registry.ts";
import { optionsByName } from "../lib/options/all.ts";
import { type Option, variableOf, yamlKeyOf } from "../lib/options/option.ts";
import { watchKeys } from "../lib/options/watch-file.ts";

/** `docs/options.md`, from the table of options and the commands. */

const INTRODUCTION = `# Options

For everybody who sets an option: at the end of this page you know its flag, its variable, its key in a file, and which
of them counts. Made from \`lib/options/\` by \`node scripts/docs.ts\`.

Every option is a flag, an environment variable, or a key of \`sealift.yaml\` in the current folder (\`--config FILE\` or \`SEALIFT_CONFIG\` names
another file). The first of these that gives the option counts:

1. the flag, such as \`--hub-url\`;
2. the variable, such as \`SEALIFT_HUB_URL\`, unless it is empty;
3. for secrets, a systemd credential of the option's name;
4. the key of the file, such as \`hub_url\`;
5. the default.

A secret such as \`--api-key\` can also be in a file: \`--api-key-file PATH\`, \`SEALIFT_API_KEY_FILE\`, \`api_key_file\`. The path \`-\` is standard
input, for one secret. Yes-or-no options take \`--name\` and \`--no-name\`, and \`true\` or \`false\` elsewhere; lists take several flags, commas in
variables, and lists in files. Sizes are bytes, or have K, M, G or T (powers of 1024); durations are seconds, or have ms, s, m, h or d, which those of days need (\`--expires\`, \`--soak\`).

An option means the same wherever it is given; commands ignore keys of options that they do not have, and refuse keys that no command has. A key
marked with ● can also stand in \`watch.yaml\`, for all targets or for one (see [watch.md](watch.md)).

## Trusted folders

A folder's \`sealift.yaml\` may come from somebody else, in a pull request for one. Keys marked with ▲, and all \`*_file\` keys of secrets, say where
secrets go or come from, which of your hubs is asked, or what is trusted or run. They count only

- after \`sealift trust-folder\` in that folder, which remembers the path and digest of the file for you alone; a changed file is trusted no longer;
- where \`SEALIFT_TRUST_FOLDER\` is the digest of the file (\`sha256:…\`, as \`sealift trust-folder --list\` shows it), or \`yes\`. In CI that runs pull
  requests of others, use the digest;
- in a file that you name with \`--config\` or \`SEALIFT_CONFIG\`.

Otherwise the command names the keys that it ignores and goes on without them, or ends with 2 where it needs one of them.
So it ends where nothing but a \`context\` that does not count says which hub to ask. Other keys always count.

\`SEALIFT_API_KEY_HUB\` binds the API key of the environment (or of a systemd credential) to one hub: no command sends it to another one.

## Hubs, proxies and certificates

\`sealift login URL\` asks the hub whether it knows your API key, and keeps both in \`~/.config/sealift/contexts.json\` (0600; below
\`XDG_CONFIG_HOME\` where it is set). Commands that are given no hub use it, and say so on stderr; \`--context NAME\` takes another one,
\`sealift context list\`, \`use\` and \`show\` manage them, and \`sealift logout\` forgets one. A key is sent to the hub that it was stored for
and to no other one.

\`HTTPS_PROXY\`, \`HTTP_PROXY\` and \`NO_PROXY\` count as in other programs (Node.js 24.14 or newer, or 25.4). Certificates of Node.js and of the
system are trusted; \`--ca-file\` adds others. \`sealift doctor\` shows what is in use.

## Output for programs

With \`--json\`, every line on stdout is an event, and the last one is the result. \`--fields a,b.c\` prints the chosen fields of each record
as JSON lines, and \`--csv\` prints CSV with a title line. A command that lists something prints the list, which may be empty; any other one
its result. Unknown fields are rejected before any request is sent. Errors stay on stderr, and the exit code tells what happened
([errors.md](errors.md)).

Texts of others, such as the error of a host, cannot steer your terminal. In JSON the characters that a terminal obeys are escaped
(\`\\u009b\`), which is the same value to every reader. CSV loses them on a terminal; in a pipe or a file it has the
exact bytes.
`;

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "&lt;");

function row(option: Option, inWatch: boolean): string {
  const flag = option.fileOnly ? `--${option.name}-file` : option.flag;
  const marks = `${inWatch ? " ●" : ""}${option.guarded || option.fileOnly ? " ▲" : ""}`;
  const key = `\`${yamlKeyOf(option.fileOnly ? `${option.name}-file` : option.name)}\`${marks}`;
  const value = option.choices.length > 0 ? option.choices.join(", ") : option.metavar;
  const cells = [`\`${flag}\``, value, option.help, option.shownDefault ?? "", `\`${variableOf(option.name)}\``, key];
  return `| ${cells.map(cell).join(" | ")} |`;
}

/** Returns the page: every option once by heading, then the commands with their options. */
export async function optionsPage(): Promise<string> {
  const watched = new Set([...watchKeys().values()].map(({ name }) => name));
  const headings = new Map<string, string[]>();
  for (const options of optionsByName().values()) {
    const different = new Map(options.map((option) => [row({ ...option, heading: "" }, false), option]));
    for (const option of different.values()) {
      const rows = headings.get(option.heading) ?? [];
      headings.set(option.heading, [...rows, row(option, watched.has(option.name))]);
    }
  }
  const sections = [...headings].flatMap(([heading, rows]) => [
    `## ${heading}\n`,
    "| flag | value | what | default | variable | key |\n| --- | --- | --- | --- | --- | --- |",
    ...rows,
    "",
  ]);
  const commands = allCommandFacts(COMMANDS).map(({ paths, options }) => {
    const words = paths.map((path) => `\`sealift ${path.join(" ")}\``).join(", ");
    const own = Map.groupBy(
      options.filter(({ heading }) => heading !== "General"),
      ({ heading }) => heading,
    );
    const groups = [...own].map(([heading, of]) => `${heading}: ${of.map(({ name }) => `\`${name}\``).join(" ")}.`);
    return `- ${[`${words}.`, ...groups].join(" ")}`;
  });
  const text = [
    INTRODUCTION,
    ...sections,
    "## Commands\n",
    `Each takes the options of [General](#general), too.\n`,
    ...commands,
    "",
  ];
  return format(text.join("\n"), { parser: "markdown", printWidth: 120 });
}
