/**
 * Writes the documents that come from the contract: `docs/errors.md` from the table of codes, `docs/schemas/` from the
 * schemas, `docs/options.md` from the table of options, the contract's pages of routes and events, and the tables of
 * `docs/performance.md` and `docs/architecture.md`. `--check` only compares.
 */
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import { BLAMELESS, WAIT_CAUSES } from "../lib/contract/blame.ts";
import { CODES, EXIT } from "../lib/contract/codes.ts";
import { jsonSchemas } from "../lib/contract/files/json-schemas.ts";
import { optionSchemas } from "../lib/options/schemas.ts";
import { scriptArguments } from "./arguments.ts";
import { BUDGETS, budgetTable } from "./bench/budgets.ts";
import { actionTable, eventTable } from "./event-tables.ts";
import { eventsPage } from "./events-page.ts";
import { EXIT_MEANINGS } from "./exit-meanings.ts";
import { sizeTable } from "./folder-sizes.ts";
import { optionsPage } from "./options-page.ts";
import { routesPage } from "./routes-page.ts";
import { wingTable } from "./wings.ts";

function errorsPage(): string {
  const exits = Object.entries(EXIT).map(([name, code]) => `| ${code} | ${EXIT_MEANINGS[name as keyof typeof EXIT]} |`);
  const codes = Object.entries(CODES).map(([code, { exit, meaning }]) => `| \`${code}\` | ${exit} | ${meaning} |`);
  return [
    "# Errors and exit codes",
    "",
    "For people and programs that look at a failure: what each exit code and each code means. What to check behind them is",
    "in [troubleshooting](troubleshooting.md). Made from `lib/contract/codes.ts` by `node scripts/docs.ts`; codes and exit",
    "codes keep their meaning.",
    "",
    "| exit code | meaning |",
    "| --- | --- |",
    ...exits,
    "",
    "| code | exit code | meaning |",
    "| --- | --- | --- |",
    ...codes,
    "",
  ].join("\n");
}

const { values } = scriptArguments(import.meta.filename, {
  options: { check: { type: "boolean", default: false } },
});
const docs = new URL("../docs/", import.meta.url);

/** Formats a page with prettier. */
async function formatted(name: string, text: string): Promise<string> {
  const path = fileURLToPath(new URL(name, docs));
  return format(text, { ...(await resolveConfig(path)), filepath: path });
}

const documents = new Map<string, string>([
  ["errors.md", errorsPage()],
  ["options.md", await optionsPage()],
  ["contract/events.md", await formatted("contract/events.md", eventsPage())],
  ["contract/routes.md", await formatted("contract/routes.md", await routesPage())],
]);
for (const [name, schema] of Object.entries({ ...jsonSchemas(), ...optionSchemas() }))
  documents.set(`schemas/${name}`, `${JSON.stringify(schema, null, 2)}\n`);

/** Puts generated text between its marks in a hand-written page. */
function between(page: string, mark: string, text: string): string {
  const begin = `<!-- ${mark} -->\n`;
  const [before, rest] = page.split(begin);
  return `${before}${begin}\n${text}\n${rest!.slice(rest!.indexOf("\n<!-- end -->"))}`;
}

/** Returns a hand-written page with the generated text between its marks. */
const completed = (name: string, mark: string, text: string): Promise<string> =>
  formatted(name, between(readFileSync(new URL(name, docs), "utf8"), mark, text));

/** Returns the page with the table of failures that blame no version between its marks. */
function reportsPage(): Promise<string> {
  const codes = Map.groupBy(Object.entries(BLAMELESS), ([, cause]) => cause);
  const rows = WAIT_CAUSES.map((cause) => {
    const names = codes.get(cause)!.map(([code]) => `\`${code}\``);
    return `| \`${cause}\` | ${names.join(", ")} |`;
  });
  return completed("contract/marketplace.md", "blameless", ["| cause | codes |", "| --- | --- |", ...rows].join("\n"));
}

/** Returns the page with the table of budgets between its marks. */
function performancePage(): Promise<string> {
  const measured = globSync("scripts/bench/**/*.ts").map((path) => readFileSync(path, "utf8"));
  const judges = measured.filter((text) => /\bjudged\(|\browOf\(|\brow\(/.test(text)).join("\n");
  for (const name of Object.keys(BUDGETS)) {
    const pattern = new RegExp(`["\`]${name.replace(/_(?:file|many)(?=_|$)/, "_(?:file|many|\\$\\{budgets\\})")}["\`]`);
    if (!pattern.test(judges)) throw new Error(`No row of the bench is judged by the budget ${name}.`);
  }
  return completed("performance.md", "budgets", budgetTable());
}
documents.set("contract/keys.md", await completed("contract/keys.md", "actions", actionTable()));
documents.set("webhooks.md", await completed("webhooks.md", "events", eventTable()));
documents.set("contract/marketplace.md", await reportsPage());
documents.set("performance.md", await performancePage());
const architecture = readFileSync(new URL("architecture.md", docs), "utf8");
documents.set(
  "architecture.md",
  await formatted(
    "architecture.md",
    between(between(architecture, "wings", wingTable()), "sizes", sizeTable(architecture)),
  ),
);

mkdirSync(new URL("schemas/", docs), { recursive: true });
for (const [name, text] of documents) {
  const path = fileURLToPath(new URL(name, docs));
  if (!values.check) writeFileSync(path, text);
  else if (!existsSync(path) || readFileSync(path, "utf8") !== text) {
    console.error(`docs/${name} is not what the sources say: run npm run docs`);
    process.exitCode = 1;
  }
}
