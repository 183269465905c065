// Only in test:all: many requests for one rule, 4 s of a processor.
import { deflateRawSync } from "node:zlib";
import t from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { publishFiles } from "../../support/hub/shown-hub.ts";
import { Visitor } from "../../support/hub/web.ts";

/** Texts on which parsers of Markdown have been slow. */
const SLOW: Record<string, string> = {
  brackets: "[".repeat(100_000),
  "brackets that close": "[a](".repeat(30_000),
  emphasis: "*a **a ".repeat(20_000),
  quotes: ">".repeat(60_000),
  lists: Array.from({ length: 300 }, (_, depth) => `${" ".repeat(depth * 2)}- a`).join("\n"),
  backticks: Array.from({ length: 400 }, (_, length) => "`".repeat(length)).join("a"),
  entities: "&amp;".repeat(25_000),
  links: `${"[a]".repeat(40_000)}\n\n[a]: b`,
  references: Array.from({ length: 5000 }, (_, index) => `[${index}]: x`).join("\n"),
  tables: `|${"a|".repeat(2000)}\n|${"-|".repeat(2000)}\n${"|".repeat(30_000)}`,
  zeros: "\0".repeat(100_000),
  html: "<a ".repeat(40_000),
  large: "words ".repeat(500_000),
};
/** One README on a machine that does other things besides. */
const PATIENCE_MS = 3000;

t.test("no README keeps the hub from others", async (t) => {
  const hub = await startHub(t);
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  for (const [name, text] of Object.entries(SLOW)) {
    const slug = name.replaceAll(" ", "-");
    await hub.call("POST", "/devkeys/projects", { json: { name, kind: "service", slug } });
    await publishFiles(hub, { kind: "service", slug, version: "1.0.0" }, { "README.md": text });
    const before = performance.now();
    const { status, html } = await admin.request(`/services/${slug}`);
    const tookMs = performance.now() - before;
    t.equal(status, 200, name);
    t.ok(tookMs < PATIENCE_MS, `${name} took ${Math.round(tookMs)} ms`);
    t.ok(html.length < 4_000_000, `${name} is ${html.length} characters`);
  }
  t.ok(deflateRawSync(SLOW["large"]!).length < 20_000, "it packs well");
});
