import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import packageJson from "../../package.json" with { type: "json" };

const SCRIPT = fileURLToPath(new URL("../../scripts/site.ts", import.meta.url));

t.test("the site has every page, links that lead to files of it, and asks no other machine", (t) => {
  const folder = t.testdir();
  execFileSync(process.execPath, [SCRIPT, folder]);
  const site = join(folder, packageJson.version);
  const page = readFileSync(join(site, "docs/rollouts.html"), "utf8");
  t.match(page, `<title>Rollouts · Sealift ${packageJson.version}`);
  t.match(page, 'id="start-before-you-publish"');
  t.notMatch(page, "&lt;!--");
  t.notMatch(page, /(?:src|<link[^>]*href)="(?:https?:)?\/\//);
  const links = [...page.matchAll(/(?:href|src)="(?!https?:)([^"#]+)/g)].map(([, link]) => link!);
  t.ok(links.length > 60);
  for (const link of links) t.ok(existsSync(join(site, "docs", link)), link);
  const text = readFileSync(join(site, "sections.js"), "utf8").replace(/^window.sections = |;\n$/g, "");
  const sections = JSON.parse(text) as { url: string; heading: string }[];
  t.ok(sections.some(({ url }) => url === "docs/rollouts.html#start-before-you-publish"));
  t.end();
});
