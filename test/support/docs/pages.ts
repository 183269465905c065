/** The Markdown pages of the repository, as tests of the documents read them. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import GithubSlugger from "github-slugger";
import { lexer, type Token, walkTokens } from "marked";

export const repository = fileURLToPath(new URL("../../../", import.meta.url));

/** Paths of the files that belong to the repository, relative to it: tracked ones and new ones that nothing ignores. */
export function repositoryFiles(...patterns: string[]): string[] {
  const options = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", ...patterns];
  return execFileSync("git", options, { cwd: repository, encoding: "utf8" }).split("\0").filter(Boolean);
}

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
