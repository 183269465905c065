/**
 * Every command block of every page, typed as a reader types it, page by page, in an empty folder. Where root types, an
 * ordinary user types the pages of the first hour. `SEALIFT_PAGES=docs/watch.md` chooses pages.
 */
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t from "tap";
import { parseAllDocuments } from "yaml";
import { type Block, blocksOf, printedPattern } from "../support/docs/blocks.ts";
import { readPage, repository, repositoryFiles } from "../support/docs/pages.ts";
import { copyCheckout, installPrograms, readerEnvironment, Shell, type User } from "../support/docs/shell.ts";
import { freePort } from "../support/free-port.ts";
import { needs, OPTIONAL, type OptionalProgram } from "../support/programs/optional.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const LANGUAGES = ["sh", "text", "yaml", "json", "ts", "js", "mermaid", "ini", "sql", "html", "go", "python"];
const BLOCK_LIMIT_MS = 180_000;
/** Ports that the pages name; the test gives each page its own. */
const PORTS = ["8787", "8000", "9090", "9464"];
const PORT = new RegExp(`\\b(?:${PORTS.join("|")})\\b`, "g");

const STARTED = new RegExp(`(?:^|[|;&(]) *(?:sudo )?(${Object.keys(OPTIONAL).join("|")})(?= )`, "gm");
const only = process.env["SEALIFT_PAGES"]?.split(",").filter(Boolean) ?? [];
const pages = repositoryFiles("*.md").filter(
  (path) => path !== "CHANGELOG.md" && (only.length === 0 || only.includes(path)),
);

const shown = (block: Block): string => block.text.split("\n")[0]!;

// Programs start more slowly on a busy machine than one test file is given.
t.setTimeout(900_000);

t.test("every block says its language, and none that cannot run is without its reason", async (t) => {
  for (const page of pages) {
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

/** Somebody who types, and the checkout that the pages take examples from. */
interface Reader {
  checkout: string;
  programs: string;
  user?: User;
}

const isRoot = process.getuid?.() === 0;
const installed = temporaryFolder(t);
chmodSync(installed, 0o755);
const self: Reader = { checkout: repository, programs: join(installed, "bin") };
installPrograms(self.programs);

/** An ordinary user, who has no name here and nothing of their own. */
function ordinaryUser(): Reader {
  const checkout = join(installed, "checkout");
  const reader = { checkout, programs: join(installed, "user-bin"), user: { uid: 61_234, gid: 61_234 } };
  installPrograms(reader.programs, checkout, copyCheckout(checkout));
  return reader;
}

const FIRST_HOUR = ["docs/getting-started.md", "docs/watch.md", "docs/runtime.md", "docs/sdk.md"];
const firstHour = isRoot && pages.some((page) => FIRST_HOUR.includes(page)) ? ordinaryUser() : undefined;

for (const page of pages) {
  const blocks = blocksOf(readPage(page));
  if (!blocks.some(({ language, notRun }) => language === "sh" && notRun === undefined)) continue;

  if (firstHour !== undefined && FIRST_HOUR.includes(page)) typed(page, blocks, firstHour, "work for an ordinary user");
  else typed(page, blocks, self, "work as they stand there");
}

/** The optional programs that a page's commands start. */
function programsOf(blocks: readonly Block[]): OptionalProgram[] {
  const typed = blocks.filter(({ language, notRun }) => language === "sh" && notRun === undefined);
  const text = typed.map(({ text, first = "" }) => `${first}\n${text}`).join("\n");
  return [...new Set([...text.matchAll(STARTED)].map(([, name]) => name as OptionalProgram))];
}

function typed(page: string, blocks: readonly Block[], { checkout, programs, user }: Reader, works: string): void {
  const skip = needs(...programsOf(blocks));
  void t.test(`the commands of ${page} ${works}`, { timeout: 600_000, skip }, async (t) => {
    const base = temporaryFolder(t);
    // Sandboxes of a runtime that root has started are other users.
    chmodSync(base, 0o755);
    const [home, folder] = ["home", "work"].map((name) => join(base, name)) as [string, string];
    for (const path of [home, folder]) {
      mkdirSync(path);
      if (user !== undefined) chownSync(path, user.uid, user.gid);
    }
    const ports = new Map(await Promise.all(PORTS.map(async (port) => [port, String(await freePort())] as const)));
    const here = (text: string): string => text.replace(PORT, (port) => ports.get(port)!);

    await using shell = new Shell(folder, { ...readerEnvironment(home, programs), REPOSITORY: checkout }, user);
    for (const block of blocks) {
      if (block.first !== undefined) {
        const { text, code } = await shell.type(here(block.first), BLOCK_LIMIT_MS);
        if (code !== 0) return void t.fail(`what comes before "${shown(block)}" failed`, { printed: text });
      }
      if (block.as !== undefined) {
        const file = join(folder, block.as);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, here(`${block.text}\n`));
        if (user !== undefined) chownSync(file, user.uid, user.gid);
      }
      if (block.language !== "sh" || block.notRun !== undefined) continue;
      const { text, code } = await shell.type(here(block.text), BLOCK_LIMIT_MS);
      // Nothing after a failed command can be what the page says.
      if (code !== 0) return void t.fail(`"${shown(block)}" failed`, { printed: text });
      if (block.prints === undefined) t.pass(shown(block));
      else t.match(text, printedPattern(here(block.prints)), `${shown(block)} prints what the page says`);
    }
  });
}
