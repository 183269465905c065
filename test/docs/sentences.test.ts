// Holds: pages are read by people (docs, README.md, CONTRIBUTING.md, SECURITY.md, CHANGELOG.md)
import t from "tap";
import { readPage, repositoryFiles } from "../support/docs/pages.ts";
import { sentencesOf, wordsOf } from "../support/docs/sentences.ts";

const MOST_WORDS = 35;
const MOST_ENTRIES = 40;

/** The changelog's entries and another project's text. */
const OTHERS = ["CHANGELOG.md", "CODE_OF_CONDUCT.md"];
const pages = repositoryFiles("*.md").filter((path) => !OTHERS.includes(path));

t.test(`no sentence of a page has more than ${MOST_WORDS} words, outside of tables`, (t) => {
  const sentences = pages.flatMap((page) =>
    [...sentencesOf(readPage(page))].map((sentence) => ({ page, ...sentence })),
  );
  t.ok(sentences.length > 2000, `${sentences.length} sentences`);
  t.strictSame(
    sentences.filter(({ words }) => words > MOST_WORDS).map(({ page, words, text }) => `${page}: ${words}: ${text}`),
    [],
  );
  t.end();
});

t.test("every page for readers begins with whom it is for", (t) => {
  const begins = (page: string): string => [...sentencesOf(readPage(page))][0]!.text;
  const others = pages.filter(
    (page) => /^docs\/(?:contract\/)?[\w-]+\.md$/.test(page) && !begins(page).startsWith("For "),
  );
  t.strictSame(others, []);
  t.end();
});

t.test("what a sentence is", (t) => {
  const long = "one ".repeat(20);
  const counted = (page: string): number[] => [...sentencesOf(page)].map(({ words }) => words);
  t.strictSame(counted("Read `a file.md`. It is [short and *clear*](x.md): really, `so`."), [3, 7]);
  t.strictSame(counted(`- ${long}\n- ${long}\n\n> ${long}`), [20, 20, 20], "items and quotations stand alone");
  t.strictSame(
    counted(`# ${long}\n\n| ${long} |\n| --- |\n| ${long} |\n\n\`\`\`sh\n${long}\n\`\`\`\n<!-- ${long} -->`),
    [],
  );
  t.end();
});

t.test("what is new in a version fits a screen or two, under the role that it is for", (t) => {
  const [newest = ""] = readPage("CHANGELOG.md").split(/^## /m).slice(1);
  const [, ...roles] = newest.split(/^### /m);
  t.ok(roles.length > 0, "its entries stand under roles (### Hub)");
  const entries = roles.map((role) => role.match(/^- /gm)?.length ?? 0);
  t.notOk(entries.includes(0), "each role has an entry, which begins with -");
  const sum = entries.reduce((all, some) => all + some, 0);
  t.ok(sum <= MOST_ENTRIES, `${sum} entries`);
  t.end();
});

t.test("the page for operators of a hub stays short", (t) => {
  const words = wordsOf(readPage("docs/hub.md"));
  t.ok(words > 1000 && words <= 1800, `${words} words`);
  t.end();
});
