/**
 * `node scripts/pictures.ts [FOLDER] [WIDTH…]`: takes pictures of a hub's pages with an example fleet, in the installed
 * Chromium. Without arguments, those of `docs/pictures/`, with the dashboard that the built quickstart ends with. With
 * a folder, every page at each width, light and dark. Those of `docs/pictures/` are in the package: `pngquant`, which
 * must be installed, leaves 64 colours and a third of the bytes. Node reads no `.tsx`: `tsx.ts` does.
 */
import "../test/support/tsx.ts";
import { execFileSync } from "node:child_process";
import { globSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AnsiUp } from "ansi_up";
import type { Browser } from "playwright-core";
import { createHub } from "../lib/hub/hub.ts";
import { pages } from "../lib/web/pages.ts";
import { hubAt } from "../test/support/hub/harness.ts";
import { fillShownHub, pagesOf } from "../test/support/hub/shown-hub.ts";
import { openBrowser, signIn } from "../test/support/programs/browser.ts";
import { Terminal } from "../test/support/programs/terminal.ts";
import { scriptArguments } from "./arguments.ts";

const SHOWN = ["catalogue", "plugin", "fleet", "rollouts", "keys"];

const { positionals } = scriptArguments(import.meta.filename, { allowPositionals: true });
const [folder = "docs/pictures", ...widths] = positionals;
const isDocumentation = positionals.length === 0;

async function takeAll(browser: Browser, url: string, key: string, pages: Record<string, string>): Promise<void> {
  const sizes = isDocumentation ? [1100] : widths.length > 0 ? widths.map(Number) : [360, 1280, 2560];
  for (const colorScheme of isDocumentation ? (["light"] as const) : (["light", "dark"] as const))
    for (const width of sizes) {
      const context = await browser.newContext({
        viewport: { width, height: isDocumentation ? 700 : 900 },
        ...{ colorScheme, locale: "en-GB", timezoneId: "Europe/Berlin" },
      });
      const page = await context.newPage();
      const take = async (name: string) =>
        page.screenshot({
          path: join(folder, isDocumentation ? `${name}.png` : `${name}-${width}-${colorScheme}.png`),
          fullPage: !isDocumentation,
        });
      if (!isDocumentation) {
        await page.goto(`${url}/sign-in`);
        await take("sign-in");
      }
      await signIn(page, url, key);
      for (const [name, path] of Object.entries(pages)) {
        if (isDocumentation && !SHOWN.includes(name)) continue;
        await page.goto(url + path);
        await take(name);
      }
      await context.close();
    }
}

/** Time limit for the quickstart to reach its dashboard, in milliseconds. */
const TOUR_LIMIT_MS = 180_000;
/** Matches the dashboard after the quickstart has published 1.2.0, with both targets on it. */
const UP_TO_DATE = /1\.2\.0 +1\.2\.0 +current[\s\S]*1\.2\.0 +1\.2\.0 +current/;
const PROJECT_CHOSEN = /› project:Harbour[\s\S]*berths-env/;

const pageOfTerminal = (html: string): string => `<style>
  body { margin: 0; background: #fff }
  pre {
    display: inline-block; margin: 0; padding: 14px 18px; border-radius: 8px;
    color: #d7dae0; background: #16191f; font: 15px/1.25 "DejaVu Sans Mono", monospace;
  }
</style><pre>${html}</pre>`;

/** Runs the quickstart in a terminal and takes a picture of its final dashboard. */
async function takeDashboard(browser: Browser): Promise<void> {
  await using terminal = await Terminal.run([process.execPath, "scripts/quickstart.ts"], {
    ...{ columns: 90, rows: 24, cwd: process.cwd() },
  });
  await terminal.shows(UP_TO_DATE, TOUR_LIMIT_MS);
  await terminal.press("Down");
  await terminal.shows(PROJECT_CHOSEN);
  const page = await browser.newPage({ deviceScaleFactor: 1.5 });
  await page.setContent(pageOfTerminal(new AnsiUp().ansi_to_html(await terminal.screen(true))));
  await page.locator("pre").screenshot({ path: join(folder, "watch.png") });
  await page.close();
  await terminal.press("q");
  await terminal.shows(/exit 0/);
}

const dataDir = await mkdtemp(join(tmpdir(), "sealift-pictures-"));
const hub = await createHub({ dataDir, web: pages, listen: { host: "127.0.0.1", port: 0 } });
const browser = await openBrowser();
try {
  const url = await hub.listen();
  const key = (await readFile(join(dataDir, "admin.key"), "utf8")).trim();
  const { project } = await fillShownHub(hubAt(url, key));
  await hub.app.inject("/");
  await mkdir(folder, { recursive: true });
  await takeAll(browser, url, key, pagesOf(project.id));
  if (isDocumentation) {
    await takeDashboard(browser);
    const pictures = globSync(join(folder, "*.png"));
    execFileSync("pngquant", ["--force", "--ext", ".png", "--strip", "--speed", "1", "64", ...pictures]);
  }
} finally {
  await browser.close();
  await hub.close();
  await rm(dataDir, { recursive: true });
}
