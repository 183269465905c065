import t from "tap";
import { readPage, repositoryFiles } from "../support/docs/pages.ts";
import { sentencesOf, wordsOf } from "../support/docs/sentences.ts";

const MOST_WORDS = 35;

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

t.test("the page for operators of a hub stays short", (t) => {
  const words = wordsOf(readPage("docs/hub.md"));
  t.ok(words > 1000 && words <= 1800, `${words} words`);
  t.end();
});
