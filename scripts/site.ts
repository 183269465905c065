/**
 * `npm run docs:site`: writes the pages of the repository as a web site to `dist-site/VERSION/`, the version being the
 * newest heading of the changelog; an argument names another folder. It asks no network, neither here nor in a browser,
 * and works from files. Fails with every link that leads nowhere.
 */
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import GithubSlugger from "github-slugger";
import MarkdownIt from "markdown-it";
import packageJson from "../package.json" with { type: "json" };
import { scriptArguments } from "./arguments.ts";

type Token = ReturnType<InstanceType<typeof MarkdownIt>["parse"]>[number];

interface Page {
  /** Path in the repository. */
  path: string;
  title: string;
  html: string;
  anchors: Set<string>;
  links: string[];
}

/** Part of a page below one heading, as the search finds it. */
interface Section {
  id: number;
  url: string;
  page: string;
  heading: string;
  text: string;
}

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOURCE = packageJson.homepage.replace(/#.*/, "/blob/main/");
const START = "docs/index.md";
/** Files that are copied unchanged. */
const FILES = ["docs/pictures", "docs/schemas"];

const markdown = new MarkdownIt({ html: false });
const { version } = packageJson;
const release = read("CHANGELOG.md")
  .match(/^## (.+)$/gm)!
  .find((heading) => heading.startsWith(`## ${version} `))!
  .slice(3);
const { positionals } = scriptArguments(import.meta.filename, { allowPositionals: true });
const target = join(positionals[0] ?? join(ROOT, "dist-site"), version);
const paths = globSync(["*.md", "docs/**/*.md"], { cwd: ROOT }).toSorted();
const sections: Section[] = [];
const pages = paths.map(readPage);
const faults = pages.flatMap(({ path, links }) => links.flatMap((link) => faultOf(path, link)));
if (faults.length > 0) throw new Error(`Links lead nowhere:\n${faults.join("\n")}`);

rmSync(target, { recursive: true, force: true });
for (const page of pages) write(htmlOf(page.path), layout(page));
for (const folder of FILES) cpSync(join(ROOT, folder), join(target, folder), { recursive: true });
const search = createRequire(import.meta.url).resolve("minisearch");
cpSync(join(dirname(search), "../umd/index.js"), join(target, "minisearch.js"));
write("sections.js", `window.sections = ${JSON.stringify(sections)};\n`);
cpSync(join(ROOT, "scripts/site"), target, { recursive: true });
write("index.html", redirect(htmlOf(START)));
write("../index.html", redirect(`${version}/index.html`));
console.log(`${relative(process.cwd(), target)}: ${pages.length} pages, ${sections.length} sections`);

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

function write(path: string, text: string): void {
  const file = join(target, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Returns the path of a page in the site. */
function htmlOf(path: string): string {
  return path.replace(/README\.md$/, (name, at) => (at === 0 ? name : "index.md")).replace(/\.md$/, ".html");
}

function readPage(path: string): Page {
  const slugger = new GithubSlugger();
  // Marks for the tests of the pages are not part of the text.
  const tokens = markdown.parse(read(path).replaceAll(/<!--[\s\S]*?-->/g, ""), {});
  const page: Page = { path, title: path, html: "", anchors: new Set(), links: [] };
  let section: Section | undefined;
  for (const [index, token] of tokens.entries()) {
    if (token.type === "heading_open") {
      const heading = textOf(tokens[index + 1]!);
      const anchor = slugger.slug(heading);
      token.attrSet("id", anchor);
      page.anchors.add(anchor);
      if (token.tag === "h1") page.title = heading;
      section = { id: sections.length, url: `${htmlOf(path)}#${anchor}`, page: page.title, heading, text: "" };
      sections.push(section);
    } else if (section !== undefined) section.text += `${textOf(token)}\n`;
    for (const child of token.children ?? []) {
      const name = child.type === "image" ? "src" : "href";
      const href = child.attrGet(name);
      if (href === null || /^[a-z][a-z0-9+.-]*:/i.test(String(href))) continue;
      page.links.push(String(href));
      child.attrSet(name, linkOf(path, String(href)));
    }
  }
  page.html = markdown.renderer.render(tokens, markdown.options, {});
  return page;
}

function textOf({ type, content, children }: Token): string {
  if (type !== "inline") return content;
  return (children ?? []).map((child) => child.content || (child.type === "softbreak" ? " " : "")).join("");
}

/** Splits a link into the file that it names in the repository, and the anchor. */
function resolved(from: string, href: string): { path: string; anchor: string } {
  const [file = "", anchor = ""] = decodeURI(href).split("#");
  return { path: file === "" ? from : posix.join(posix.dirname(from), file).replace(/\/$/, ""), anchor };
}

function isInSite(path: string): boolean {
  return FILES.some((folder) => path.startsWith(`${folder}/`));
}

/** Converts a link: pages lead to their HTML, and what is not part of the site to the source. */
function linkOf(from: string, href: string): string {
  const { path, anchor } = resolved(from, href);
  const end = anchor === "" ? "" : `#${anchor}`;
  if (isInSite(path)) return href;
  if (!paths.includes(path)) return `${SOURCE}${path}${end}`;
  return `${posix.relative(posix.dirname(from), htmlOf(path))}${end}`;
}

function faultOf(from: string, href: string): string[] {
  const { path, anchor } = resolved(from, href);
  const page = pages.find((each) => each.path === path);
  const isThere =
    page === undefined ? globSync(path, { cwd: ROOT }).length > 0 : anchor === "" || page.anchors.has(anchor);
  return isThere ? [] : [`${from}: ${href}`];
}

function escaped(text: string): string {
  return markdown.utils.escapeHtml(text);
}

function redirect(to: string): string {
  return `<!doctype html><meta charset="utf-8"><title>Sealift</title><meta http-equiv="refresh" content="0; url=${to}"><a href="${to}">The documents</a>\n`;
}

function layout({ path, title, html }: Page): string {
  const up = posix.relative(posix.dirname(path), "") || ".";
  const groups = Map.groupBy(pages, (page) => (page.path.startsWith("docs/") ? posix.dirname(page.path) : "Project"));
  const item = (page: Page): string => {
    const here = page.path === path ? ' aria-current="page"' : "";
    return `<li><a href="${up}/${htmlOf(page.path)}"${here}>${escaped(page.title)}</a></li>`;
  };
  const lists = [...groups].toSorted(([a], [b]) => (a === "Project" ? 1 : b === "Project" ? -1 : a < b ? -1 : 1));
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)} · Sealift ${escaped(release)}</title>
<link rel="stylesheet" href="${up}/site.css">
<body data-up="${up}">
<header><a href="${up}/${htmlOf(START)}">Sealift ${escaped(release)}</a>
<input id="search" type="search" placeholder="Search" aria-label="Search the documents"><ol id="found"></ol></header>
<nav aria-label="Pages">${lists.map(([name, list]) => `<details${list.some((page) => page.path === path) ? " open" : ""}><summary>${name}</summary><ul>${list.map(item).join("")}</ul></details>`).join("\n")}</nav>
<main>${html}</main>
<script src="${up}/minisearch.js"></script>
<script src="${up}/search.js"></script>
</html>
`;
}
