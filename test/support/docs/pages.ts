/** The Markdown pages of the repository, as tests of the documents read them. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import GithubSlugger from "github-slugger";
import { lexer, type Token, walkTokens } from "marked";

export const repository = fileURLToPath(new URL("../../../", import.meta.url));

const pattern = (text: string): RegExp => new RegExp(`^${text.replace(/[.+]/g, "\\$&").replaceAll("*", ".*")}$`);

/** Names that `.gitignore` keeps out, and git's own folder. */
const ignored = [".git", ...readFileSync(`${repository}.gitignore`, "utf8").split("\n").filter(Boolean)].map((line) =>
  pattern(line.replace(/\/$/, "")),
);

function* filesIn(folder: string): Generator<string> {
  for (const entry of readdirSync(`${repository}${folder}`, { withFileTypes: true })) {
    if (ignored.some((name) => name.test(entry.name))) continue;
    if (entry.isDirectory()) yield* filesIn(`${folder}${entry.name}/`);
    else yield `${folder}${entry.name}`;
  }
}

const files = [...filesIn("")].toSorted();

/** Paths of the files that belong to the repository, relative to it. `*` in a pattern stands for folders, too. */
export const repositoryFiles = (...patterns: string[]): string[] => {
  const wanted = patterns.map(pattern);
  return files.filter((path) => wanted.some((each) => each.test(path)));
};

export const readPage = (path: string): string => readFileSync(`${repository}${path}`, "utf8");

/** Every token of a page, nested ones included, in reading order. */
export function tokensOf(page: string): Token[] {
  const tokens: Token[] = [];
  walkTokens(lexer(page), (token) => void tokens.push(token));
  return tokens;
}

/** The anchors that GitHub gives to a page's headings. */
export function anchorsOf(page: string): Set<string> {
  const slugger = new GithubSlugger();
  const anchors = new Set<string>();
  for (const token of tokensOf(page)) {
    if (token.type === "heading") anchors.add(slugger.slug(textOf(token)));
  }
  return anchors;
}

const textOf = (token: Token): string =>
  "tokens" in token && token.tokens !== undefined
    ? token.tokens.map(textOf).join("")
    : "text" in token
      ? String(token.text)
      : "";
