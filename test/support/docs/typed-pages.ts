import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t from "tap";
import { programAt } from "../../../lib/agent/applications/programs.ts";
import { copyWebExample } from "../../../scripts/quickstart/web-packages.ts";
import { freePort } from "../free-port.ts";
import { needs, OPTIONAL, type OptionalProgram } from "../programs/optional.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { type Block, blocksOf, printedPattern } from "./blocks.ts";
import { readPage, repository, repositoryFiles } from "./pages.ts";
import { copyCheckout, installPrograms, readerEnvironment, Shell, type User } from "./shell.ts";

const BLOCK_LIMIT_MS = 180_000;
/** Ports that the pages name; the test gives each page its own. */
const PORTS = ["8787", "8000", "9090", "9464", "3001", "3002"];
const PORT = new RegExp(`\\b(?:${PORTS.join("|")})\\b`, "g");

const STARTED = new RegExp(`(?:^|[|;&(]) *(?:sudo )?(${Object.keys(OPTIONAL).join("|")})(?= )`, "gm");

const machineNode = await programAt("node");

/** Pages of the first hour. Where root types, an ordinary user types them. */
export const FIRST_HOUR = [
  "docs/applications.md",
  "docs/getting-started.md",
  "docs/kits.md",
  "docs/watch.md",
  "docs/runtime.md",
  "docs/sdk.md",
  "docs/settings.md",
];

/** Returns the repository's pages, or those of them that `SEALIFT_PAGES=docs/watch.md,…` chooses. */
export function chosenPages(): string[] {
  const only = process.env["SEALIFT_PAGES"]?.split(",").filter(Boolean) ?? [];
  return repositoryFiles("*.md").filter(
    (path) => path !== "CHANGELOG.md" && (only.length === 0 || only.includes(path)),
  );
}

/** Somebody who types, and the checkout that the pages take examples from. */
interface Reader {
  checkout: string;
  /** The example of an application with its packages, as a reader has it after `npm ci`. */
  webExample: string;
  programs: string;
  user?: User;
}

/** An ordinary user, who has no name here and nothing of their own. */
const NOBODY: User = { uid: 61_234, gid: 61_234 };

/**
 * Tests that every command block of the pages works as it stands, typed as a reader types it, in an empty folder.
 *
 * @param asOrdinaryUser types as an ordinary user where this is root
 */
export function typePages(pages: readonly string[], { asOrdinaryUser = false } = {}): void {
  if (pages.length === 0) return void t.pass("none of these pages is chosen");
  const installed = temporaryFolder(t);
  chmodSync(installed, 0o755);
  const webExample = join(installed, "web");
  copyWebExample(webExample);
  const self: Reader = { checkout: repository, webExample, programs: join(installed, "bin") };
  installPrograms(self.programs);
  const isRoot = process.getuid?.() === 0;
  const reader = asOrdinaryUser && isRoot ? ordinaryUser(installed, webExample) : self;
  for (const page of pages) {
    const blocks = blocksOf(readPage(page));
    if (!blocks.some(({ language, notRun }) => language === "sh" && notRun === undefined)) continue;
    typed(page, blocks, reader);
  }
}

function ordinaryUser(installed: string, webExample: string): Reader {
  const checkout = join(installed, "checkout");
  const reader = { checkout, webExample, programs: join(installed, "user-bin"), user: NOBODY };
  installPrograms(reader.programs, checkout, copyCheckout(checkout));
  return reader;
}

/** The optional programs that a page's commands start. */
function programsOf(blocks: readonly Block[]): OptionalProgram[] {
  const typed = blocks.filter(({ language, notRun }) => language === "sh" && notRun === undefined);
  const text = typed.map(({ text, first = "" }) => `${first}\n${text}`).join("\n");
  const started = [...text.matchAll(STARTED)].map(([, name]) => name as OptionalProgram);
  return [...new Set([...started, ...(typed.some(({ on }) => on !== undefined) ? (["unshare"] as const) : [])])];
}

const shown = (block: Block): string => block.text.split("\n")[0]!;

function typed(page: string, blocks: readonly Block[], { checkout, webExample, programs, user }: Reader): void {
  // Hosts start an application by the Node.js of the machine.
  const isServed = blocks.some(({ language, text }) => language === "sh" && text.includes("app serve --"));
  const lacksNode = isServed && machineNode === undefined && "needs node in /usr/bin";
  const skip = needs(...programsOf(blocks)) || lacksNode;
  const works = user === undefined ? "as they stand there" : "for an ordinary user";
  void t.test(`the commands of ${page} work ${works}`, { timeout: 600_000, skip }, async (t) => {
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

    await using shells = new AsyncDisposableStack();
    const environment = { ...readerEnvironment(home, programs), REPOSITORY: checkout, WEB_EXAMPLE: webExample };
    const desk = shells.use(new Shell(folder, environment, user));
    const machines = new Map<string, Shell>();
    /** Returns the shell of a host without network, which starts in a folder of the host's own. */
    const machine = (name: string): Shell => {
      const known = machines.get(name);
      if (known !== undefined) return known;
      const own = join(folder, name);
      mkdirSync(own);
      if (user !== undefined) chownSync(own, user.uid, user.gid);
      const shell = shells.use(new Shell(own, readerEnvironment(home, programs), user, name));
      machines.set(name, shell);
      return shell;
    };
    for (const block of blocks) {
      const on = block.on === undefined ? [desk] : block.on.split(", ").map(machine);
      for (const shell of block.first === undefined ? [] : on) {
        const { text, code } = await shell.type(here(block.first!), BLOCK_LIMIT_MS);
        if (code !== 0) return void t.fail(`what comes before "${shown(block)}" failed`, { printed: text });
      }
      if (block.as !== undefined) {
        const file = join(folder, block.as);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, here(`${block.text}\n`));
        if (user !== undefined) chownSync(file, user.uid, user.gid);
      }
      for (const shell of block.language !== "sh" || block.notRun !== undefined ? [] : on) {
        const { text, code } = await shell.type(here(block.text), BLOCK_LIMIT_MS);
        // Nothing after a failed command can be what the page says.
        if (code !== 0) return void t.fail(`"${shown(block)}" failed`, { printed: text });
        if (block.prints === undefined) t.pass(shown(block));
        else t.match(text, printedPattern(here(block.prints)), `${shown(block)} prints what the page says`);
      }
    }
  });
}
