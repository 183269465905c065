import MarkdownIt from "markdown-it";
import { createElement, Fragment, type ReactNode } from "react";
import { Away } from "../page/parts.tsx";

/**
 * Shows Markdown written by somebody else. The parser's tokens become elements of a short list, and everything else is
 * text: no HTML is copied, and nothing is loaded from anywhere.
 */

const parser = new MarkdownIt({ html: false, linkify: false, maxNesting: 20 });

type Token = ReturnType<typeof parser.parse>[number];

/** Elements without attributes. */
const PLAIN = new Set(
  "p h1 h2 h3 h4 h5 h6 em strong s ul ol li blockquote hr br table thead tbody tr th td".split(" "),
);
/** Levels by which headings are lowered below the page's own. */
const HEADING_SHIFT = 2;

const tagOf = (tag: string): string => (/^h[1-6]$/.test(tag) ? `h${Math.min(6, Number(tag[1]) + HEADING_SHIFT)}` : tag);

interface Open {
  tag: string;
  href: string;
  children: ReactNode[];
}

function close({ tag, href, children }: Open, key: number): ReactNode {
  if (tag === "a")
    return (
      <Away key={key} href={href}>
        <>{children}</>
      </Away>
    );
  if (PLAIN.has(tag)) return createElement(tagOf(tag), { key }, ...children);
  return <Fragment key={key}>{children}</Fragment>;
}

function leaf(token: Token, key: number): ReactNode {
  switch (token.type) {
    case "inline":
      return <Fragment key={key}>{elements(token.children ?? [])}</Fragment>;
    case "code_inline":
      return <code key={key}>{token.content}</code>;
    case "fence":
    case "code_block":
      return (
        <pre key={key} tabIndex={0} aria-label="Code">
          <code>{token.content}</code>
        </pre>
      );
    case "softbreak":
      return "\n";
    case "image":
      return (
        <span key={key} className="faint">
          {token.content === "" ? "[image]" : `[image: ${token.content}]`}
        </span>
      );
    default:
      return token.tag === "hr" || token.tag === "br" ? createElement(token.tag, { key }) : token.content;
  }
}

function elements(tokens: readonly Token[]): ReactNode[] {
  const root: Open = { tag: "", href: "", children: [] };
  const open: Open[] = [root];
  for (const [key, token] of tokens.entries()) {
    if (token.hidden) continue;
    const top = open.at(-1)!;
    if (token.nesting === 1) open.push({ tag: token.tag, href: String(token.attrGet("href") ?? ""), children: [] });
    else if (token.nesting === 0) top.children.push(leaf(token, key));
    else if (open.length > 1) open.at(-2)!.children.push(close(open.pop()!, key));
  }
  return root.children;
}

export const Readme = ({ text }: { text: string }) => <div className="readme">{elements(parser.parse(text, {}))}</div>;
