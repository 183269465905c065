/** The code blocks of a page, with what HTML comments before them say to the test that runs them. */
import { lexer, type Token } from "marked";

export interface Block {
  /** The word after the fence. */
  language: string;
  text: string;
  /** `<!-- not run: REASON -->`: why a test cannot run it. */
  notRun?: string;
  /** `<!-- first: COMMANDS -->`: what a reader has already done, run before the block. */
  first?: string;
  /** `<!-- on: HOST, HOST -->`: hosts without network that it is typed on, each in a folder of its name. */
  on?: string;
  /** `<!-- as: PATH -->`: the file that a reader saves the block as. */
  as?: string;
  /** The `text` block right after it: what it prints, where `…` is anything, and a line `…` any lines. */
  prints?: string;
}

const DIRECTIVE = /<!--\s*(not run|first|on|as):([\s\S]*?)-->/g;
const PROPERTIES = { "not run": "notRun", first: "first", on: "on", as: "as" } as const;

function* flat(tokens: readonly Token[]): Generator<Token> {
  for (const token of tokens) {
    yield token;
    if (token.type === "list")
      for (const item of (token as { items: { tokens: Token[] }[] }).items) yield* flat(item.tokens);
    else if (token.type === "blockquote") yield* flat((token as { tokens: Token[] }).tokens);
  }
}

export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let said: Partial<Block> = {};
  let shell: Block | undefined;
  for (const token of flat(lexer(page))) {
    if (token.type === "html") {
      for (const [, word, text] of (token as { text: string }).text.matchAll(DIRECTIVE))
        said[PROPERTIES[word as keyof typeof PROPERTIES]] = text!.trim();
    } else if (token.type === "code") {
      const { text, lang = "" } = token as { text: string; lang?: string };
      if (lang === "text" && shell !== undefined) shell.prints = text;
      const block: Block = { language: lang, text, ...said };
      blocks.push(block);
      shell = lang === "sh" ? block : undefined;
      said = {};
    } else if (token.type !== "space") {
      said = {};
    }
    // What a block prints may be introduced by a sentence, but not by another section.
    if (token.type === "heading") shell = undefined;
  }
  return blocks;
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Matches what a block prints against the page: `…` is anything within a line, and a line `…` any lines. */
export function printedPattern(prints: string): RegExp {
  const lines = prints
    .split("\n")
    .map((line) =>
      line.trim() === "…" ? "(?:[^\\n]*\\n)*?" : `${line.trimEnd().split("…").map(escaped).join("[^\\n]*?")}[ \\t]*\\n`,
    );
  return new RegExp(`^${lines.join("")}$`);
}
