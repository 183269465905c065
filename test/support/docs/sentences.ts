/** The prose of a page, sentence by sentence. */
import { lexer, type Token, type Tokens } from "marked";

const segmenter = new Intl.Segmenter("en", { granularity: "sentence" });

const wordsIn = (text: string): string[] => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));

/** Returns the text of inline tokens, with a capital letter for each word of code: a file's name ends no sentence. */
function proseOf(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === "codespan")
        return wordsIn((token as Tokens.Codespan).text)
          .map(() => "C")
          .join(" ");
      if (token.type === "br") return " ";
      if ("tokens" in token && token.tokens !== undefined) return proseOf(token.tokens);
      return token.type === "html" || !("text" in token) ? "" : String(token.text);
    })
    .join("");
}

/** Yields the paragraphs of a page, those of lists and quotations included; not headings, tables and code. */
function* paragraphsOf(tokens: readonly Token[]): Generator<string> {
  for (const token of tokens) {
    if (token.type === "paragraph" || token.type === "text") yield proseOf((token as Tokens.Paragraph).tokens);
    else if (token.type === "list") for (const item of (token as Tokens.List).items) yield* paragraphsOf(item.tokens);
    else if (token.type === "blockquote") yield* paragraphsOf((token as Tokens.Blockquote).tokens);
  }
}

export interface Sentence {
  /** Number of words; each word of code is one. */
  words: number;
  /** The sentence, with `C` for each word of code. */
  text: string;
}

export function* sentencesOf(page: string): Generator<Sentence> {
  for (const prose of paragraphsOf(lexer(page)))
    for (const { segment } of segmenter.segment(prose.replaceAll("\n", " ")))
      yield { words: wordsIn(segment).length, text: segment.trim() };
}

/** Number of words of a page: those of its tables, headings and code, too. */
export const wordsOf = (page: string): number =>
  lexer(page)
    .filter(({ type }) => type !== "html")
    .reduce((sum, { raw }) => sum + wordsIn(raw).length, 0);
