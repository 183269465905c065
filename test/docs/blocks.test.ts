/** The blocks of pages, which other tests type. */
import t from "tap";
import { parseAllDocuments } from "yaml";
import { type Block, blocksOf } from "../support/docs/blocks.ts";
import { readPage } from "../support/docs/pages.ts";
import { chosenPages } from "../support/docs/typed-pages.ts";

const LANGUAGES = ["sh", "text", "yaml", "json", "ts", "js", "mermaid", "ini", "sql", "html", "go", "python"];

const shown = (block: Block): string => block.text.split("\n")[0]!;

t.test("every block says its language, and none that cannot run is without its reason", async (t) => {
  for (const page of chosenPages()) {
    for (const block of blocksOf(readPage(page))) {
      t.ok(LANGUAGES.includes(block.language), `${page}: ${shown(block)}: the language is "${block.language}"`);
      if (block.notRun !== undefined) t.ok(block.notRun.length > 10, `${page}: ${shown(block)}: has a reason`);
      if (block.language === "json")
        t.doesNotThrow(() => JSON.parse(block.text) as unknown, `${page}: ${shown(block)}`);
      if (block.language === "yaml") {
        const faults = parseAllDocuments(block.text).flatMap((document) =>
          "errors" in document ? document.errors : [],
        );
        t.same(faults, [], `${page}: ${shown(block)}: is YAML`);
      }
    }
  }
});
