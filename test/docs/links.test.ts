// Holds: every link leads somewhere (docs, README.md, CONTRIBUTING.md, SECURITY.md, CHANGELOG.md)
/** Links in pages and citations in code lead somewhere. */
import { existsSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import t from "tap";
import { anchorsOf, readPage, repository, repositoryFiles, tokensOf } from "../support/docs/pages.ts";
import { OPTIONAL } from "../support/programs/optional.ts";

const pages = repositoryFiles("*.md").filter((path) => existsSync(join(repository, path)));
const anchors = new Map<string, Set<string>>();

/** Why `path#anchor`, relative to the repository, leads nowhere; undefined when it leads somewhere. */
function faultOf(path: string, anchor: string | undefined): string | undefined {
  const file = join(repository, path);
  if (!existsSync(file)) return `${path} does not exist`;
  if (anchor === undefined || anchor === "") return undefined;
  if (!statSync(file).isFile() || !path.endsWith(".md")) return `${path} is not a page, so it has no #${anchor}`;
  if (!anchors.has(path)) anchors.set(path, anchorsOf(readPage(path)));
  return anchors.get(path)!.has(anchor) ? undefined : `${path} has no heading #${anchor}`;
}

t.test("every link of every page leads to a file and a heading that exist", async (t) => {
  const faults: string[] = [];
  let links = 0;
  for (const page of pages) {
    for (const token of tokensOf(readPage(page))) {
      if (token.type !== "link" && token.type !== "image") continue;
      const href = decodeURI((token as { href: string }).href);
      if (/^[a-z][a-z0-9+.-]*:/i.test(href)) continue;
      links++;
      const [path, anchor] = href.split("#") as [string, string?];
      const fault = faultOf(path === "" ? page : normalize(join(dirname(page), path)), anchor);
      if (fault !== undefined) faults.push(`${page}: ${href}: ${fault}`);
    }
  }
  t.ok(links > 50, "the pages have links");
  t.same(faults, []);
});

t.test("the map by question leads to every page beside it", (t) => {
  const links = tokensOf(readPage("docs/index.md")).filter(({ type }) => type === "link");
  const named = new Set(links.map((link) => `docs/${(link as { href: string }).href.split("#")[0]}`));
  const beside = pages.filter((page) => /^docs\/[\w-]+\.md$/.test(page) && page !== "docs/index.md");
  t.ok(beside.length > 15, `${beside.length} pages`);
  t.strictSame(
    beside.filter((page) => !named.has(page)),
    [],
  );
  t.end();
});

t.test("every page of docs/ that a comment, message or test cites exists, with its anchor or rule", async (t) => {
  const faults: string[] = [];
  let citations = 0;
  for (const file of repositoryFiles("*.ts", "*.tsx", "*.js", "*.yaml", "*.service", ".ci/run")) {
    if (!existsSync(join(repository, file))) continue;
    for (const [, path, anchor, rules] of readPage(file).matchAll(
      /(?<![\w/.-])(docs\/[\w./-]+\.md)(?:#([\w-]+))?(?:, rules? (\d+(?:(?: to | and |, )\d+)*))?/g,
    )) {
      citations++;
      const wanted = rules === undefined ? [anchor] : [...rules.matchAll(/\d+/g)].map(([number]) => `rule-${number}`);
      for (const name of wanted) {
        const fault = faultOf(path!, name);
        if (fault !== undefined) faults.push(`${file}: ${fault}`);
      }
    }
  }
  t.ok(citations > 80, "the code cites the contract");
  t.same(faults, []);
});

t.test("every attack, fault and fuzz test is named by the claim that it holds", async (t) => {
  const claims = readPage("docs/security.md");
  const tests = repositoryFiles("test/attacks/*.test.ts", "test/faults/*.test.ts", "test/fuzz/*.test.ts");
  t.ok(tests.length > 80, `${tests.length} tests`);
  t.same(
    tests.filter((path) => existsSync(join(repository, path)) && !claims.includes(`\`${path}\``)),
    [],
  );
});

t.test("every path of the repository that a page names in code exists", async (t) => {
  const faults: string[] = [];
  let paths = 0;
  for (const page of pages) {
    for (const token of tokensOf(readPage(page))) {
      if (token.type !== "codespan") continue;
      const path = (token as { text: string }).text;
      if (!/^(bin|commands|lib|scripts|test|examples|ops|\.ci|\.github)\/[\w./-]+$/.test(path)) continue;
      paths++;
      if (!existsSync(join(repository, path))) faults.push(`${page}: ${path}`);
    }
  }
  t.ok(paths > 40, "the pages name files");
  t.same(faults, []);
});

t.test("the table of optional programs has each that tests ask for", (t) => {
  const named = new Set([...readPage("CONTRIBUTING.md").matchAll(/`([\w.-]+)`/g)].map(([, name]) => name));
  t.same(
    Object.keys(OPTIONAL).filter((name) => !named.has(name)),
    [],
  );
  t.end();
});
