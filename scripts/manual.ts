/**
 * Writes the manual pages of all programs to `dist/man/`, from what the commands say of themselves. Part of the build.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ROLES } from "../commands/shell/completion/tree.ts";
import { allCommandFacts, asRole, type CommandFacts, type OptionFacts } from "../commands/shell/facts.ts";
import { COMMANDS } from "../commands/shell/registry.ts";
import { EXIT } from "../lib/contract/codes.ts";
import packageJson from "../package.json" with { type: "json" };
import { EXIT_MEANINGS } from "./exit-meanings.ts";

/** Escapes angle brackets, which are tags in Markdown. */
const plain = (text: string): string => text.replaceAll("<", "\\<").replaceAll("*", "\\*").replaceAll("_", "\\_");

/** Converts prose outside of backticks. */
const prose = (text: string): string =>
  text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith("`") ? part : plain(part)))
    .join("");

const option = ({ name, metavar, description, defaultText, required }: OptionFacts): string => {
  const remark = required ? " (required)" : defaultText === undefined ? "" : ` (default: ${defaultText})`;
  return `* \`${name}${metavar === "" ? "" : ` ${metavar}`}\`:\n  ${prose(description + remark)}`;
};

const call = (program: string, { usage }: CommandFacts, words: string): string =>
  [`**${[program, words].filter((part) => part !== "").join(" ")}**`, plain(usage), "[options]"].join(" ");

const examples = (program: string, { examples: found }: CommandFacts): string[] =>
  found.map(([what, text]) => `${prose(what)}:\n\n    ${text.replaceAll("$0", program)}`);

const exitStatus = (): string[] => [
  "## EXIT STATUS",
  ...Object.entries(EXIT).map(([name, code]) => `* ${code}:\n  ${EXIT_MEANINGS[name as keyof typeof EXIT]}`),
];

/** Returns the page of a program that is one command. */
function rolePage(program: string, facts: CommandFacts): string {
  return [
    `# ${program}(1) -- ${facts.description}`,
    "## SYNOPSIS",
    call(program, facts, ""),
    "## DESCRIPTION",
    prose(facts.details),
    "## OPTIONS",
    ...facts.options.map(option),
    "## EXAMPLES",
    ...examples(program, asRole(facts)),
    ...exitStatus(),
    "## SEE ALSO",
    "sealift(1)",
  ].join("\n\n");
}

/** Returns the page of the program with all commands. */
function sealiftPage(all: readonly CommandFacts[]): string {
  return [
    `# sealift(1) -- ${packageJson.description}`,
    "## SYNOPSIS",
    "**sealift** COMMAND [options]",
    "## DESCRIPTION",
    "Settings come from flags, then the environment, then the configuration file (`--config`, else `sealift.yaml`), then defaults. Standard output is data, " +
      "standard error everything else. With `--json` every line is an event, and the last one the result.",
    "## COMMANDS",
    ...all.flatMap((facts) => [
      `### ${call("sealift", facts, facts.paths.map((words) => words.join(" ")).join(" | "))}`,
      `${prose(facts.description)}. ${prose(facts.details)}`,
      ...facts.options.map(option),
      ...examples("sealift", facts),
    ]),
    ...exitStatus(),
    "## SEE ALSO",
    Object.keys(ROLES)
      .map((program) => `${program}(1)`)
      .join(", "),
  ].join("\n\n");
}

const converter = join(createRequire(import.meta.url).resolve("marked-man/package.json"), "..", "bin", "marked-man.js");

/** Writes a page by the converter itself: of its output, more than a socket's buffer would be cut off. */
function writePage(path: string, markdown: string): void {
  const args = [converter, "--output", path, "--version", packageJson.version, "--manual", "Sealift"];
  execFileSync(process.execPath, args, { input: markdown, cwd: folder });
}

const folder = fileURLToPath(new URL("../dist/man/", import.meta.url));
mkdirSync(folder, { recursive: true });
const facts = allCommandFacts(COMMANDS);
const pages = new Map([["sealift", sealiftPage(facts)]]);
for (const [program, words] of Object.entries(ROLES))
  pages.set(
    program,
    rolePage(
      program,
      facts.find(({ paths }) => paths.some((path) => path.join(" ") === words))!,
    ),
  );
for (const [program, markdown] of pages) writePage(join(folder, `${program}.1`), markdown);
