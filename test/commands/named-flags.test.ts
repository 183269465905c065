import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import ts from "typescript";
import { optionsByName } from "../../lib/options/all.ts";

/** Errors, hints and remarks name flags that exist: one that was removed or renamed stands in none of them. */

const ROOT = join(import.meta.dirname, "../..");
const FLAG = /(?<![\w-])--(?:no-)?([a-z][a-z0-9-]*)/g;

/** Flags that commands declare beside the tables of options. */
const declaredIn = (sources: readonly string[]): string[] =>
  sources.flatMap((source) =>
    [...source.matchAll(/Option\.\w+(?:<[^>]+>)?\("(?:-\w,)?--([a-z-]+)/g)].map(([, name]) => name!),
  );

/** Returns the texts for people of a source: literals of several words. */
function sentencesOf(path: string): string[] {
  const source = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) found.push(node.text);
    if (ts.isTemplateExpression(node))
      found.push([node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join("X"));
    node.forEachChild(visit);
  };
  visit(source);
  return found.filter((text) => / --[a-z]|^--[a-z-]+ |`--/.test(text));
}

/** Matches commands of other programs in a text. */
const OTHERS = /`(?:npm|pip|pnpm|useradd|yarn) [^`]*`|^pnpm .*/g;
/** Flags of systemctl, systemd-tmpfiles, npm, uv, gunicorn and a variable of CSS, which texts name without a mark. */
const FOREIGN = new Set(["create", "now", "global", "quiet", "bad", "dev", "emit-project", "bind"]);

t.test("each flag that a text of a command or of the library names is one of ours", async (t) => {
  const paths = globSync(["commands/**/*.{ts,tsx}", "lib/**/*.{ts,tsx}"], { cwd: ROOT }).map((path) =>
    join(ROOT, path),
  );
  const known = new Set([
    "help",
    "version",
    ...FOREIGN,
    ...declaredIn(paths.map((path) => readFileSync(path, "utf8"))),
  ]);
  for (const options of optionsByName().values())
    for (const { flag, name, kind } of options) {
      known.add((flag ?? `--${name}`).replace(/^--/, ""));
      if (kind === "secret") known.add(`${(flag ?? `--${name}`).replace(/^--/, "")}-file`);
    }
  const unknown: string[] = [];
  let named = 0;
  for (const path of paths)
    for (const text of sentencesOf(path))
      for (const [, name] of text.replaceAll(OTHERS, "").matchAll(FLAG)) {
        named++;
        if (!known.has(name!) && !known.has(`no-${name!}`)) unknown.push(`${path.slice(ROOT.length + 1)}: --${name}`);
      }
  t.strictSame([...new Set(unknown)], []);
  t.ok(named > 300, `${named} flags are named`);
});
