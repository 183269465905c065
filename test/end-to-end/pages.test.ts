// Only in test:all: a browser looks at every page at seven widths.
/** The hub's pages in a real browser: one hub and one browser for all. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import t from "tap";
import { localFeatures } from "../support/hub/features.ts";
import { type RunningHub, startHub } from "../support/hub/harness.ts";
import { startIssuer } from "../support/hub/issuer.ts";
import { fillShownHub, pagesOf, publishFiles, report, type ShownHub } from "../support/hub/shown-hub.ts";
import { signOnBy } from "../support/hub/sign-on.ts";
import { openBrowser, signIn } from "../support/programs/browser.ts";
import { needs } from "../support/programs/optional.ts";

const WIDTHS = [360, 768, 1000, 1024, 1280, 1440, 2560];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** An expression for the browser: a list of what does not fit, and of texts that are printed over each other. */
const MISFITS = `(() => {
  const excess = document.scrollingElement.scrollWidth - document.documentElement.clientWidth;
  const found = excess > 0 ? ["the page is " + excess + " pixels too wide"] : [];
  for (const { scrollWidth, clientWidth } of document.querySelectorAll(".table"))
    if (scrollWidth > clientWidth) found.push("a table hides " + (scrollWidth - clientWidth) + " pixels at its side");
  const boxes = [];
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode()) !== null; ) {
    const of = text.parentElement;
    if (text.data.trim() === "" || !of.checkVisibility() || of.closest("svg, thead, option, .unseen")) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    for (const box of range.getClientRects()) boxes.push([box, text]);
  }
  for (const [nth, [one, text]] of boxes.entries())
    for (const [other, neighbour] of boxes.slice(nth + 1)) {
      const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      // Boxes of lines overlap by a pixel or two, and their texts do not.
      if (text !== neighbour && width > 2 && height > 4) found.push(text.data + " is over " + neighbour.data);
    }
  return found;
})()`;

t.test("the pages in a browser", { skip: needs("chromium"), timeout: 600_000 }, async (t) => {
  const hub: RunningHub = await startHub(t, localFeatures());
  const shown: ShownHub = await fillShownHub(hub, { hosts: 12 });
  const browser: Browser = await openBrowser();
  t.teardown(() => browser.close());
  const troubles: string[] = [];

  /** Opens a window of its own, whose console and dialogs are listened to. */
  async function opened(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ locale: "en-GB", timezoneId: "Europe/Berlin", ...options });
    const page = await context.newPage();
    page.on("pageerror", (error) => troubles.push(`${page.url()}: ${error.message}`));
    page.on("console", (message) => {
      // The page of a missing plugin is one that is asked for.
      if (message.type() === "error" && !/status of 40[14]/.test(message.text())) troubles.push(message.text());
    });
    return page;
  }

  const violations = async (page: Page, rules?: readonly string[]): Promise<string[]> => {
    await page.evaluate(axe);
    const options = JSON.stringify({ resultTypes: ["violations"], ...(rules !== undefined && { runOnly: rules }) });
    const { violations } = await page.evaluate<AxeResults>(`axe.run(${options})`);
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
  };

  /** Lists what does not fit once the page has the width and stands still, which takes a loaded machine seconds. */
  async function misfitsAtRest(page: Page, width: number): Promise<string[]> {
    await page.waitForFunction(`innerWidth === ${width}`);
    const fit = page.waitForFunction(`${MISFITS}.length === 0`, undefined, { timeout: 30_000, polling: 100 });
    return fit.then(
      () => [],
      () => page.evaluate<string[]>(MISFITS),
    );
  }

  /** Checks a page at every width, with all its forms closed and open. */
  async function fits(page: Page, name: string): Promise<void> {
    for (const isOpen of [false, true]) {
      await page.evaluate(`document.querySelectorAll("details").forEach((each) => (each.open = ${isOpen}))`);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        const what = `${name} fits ${width} pixels with forms ${isOpen ? "open" : "closed"}`;
        t.strictSame(await misfitsAtRest(page, width), [], what);
      }
    }
  }

  t.test("each is sound at every width, light and dark, and axe finds nothing", async (t) => {
    const page = await opened();
    await page.goto(`${hub.url}/sign-in`);
    t.strictSame(await violations(page), [], "sign-in");
    await signIn(page, hub.url, hub.adminKey);
    const { body } = await hub.call("POST", "/devkeys/webhooks", {
      json: { name: "ops", url: "https://127.0.0.1:9/" },
    });
    const { id } = body as { id: string };
    const more = { webhook: `/webhooks/${id}`, staged: `/staging/${shown.pluginId}/1.3.0` };
    for (const [name, path] of Object.entries({ ...pagesOf(shown.project.id), ...more })) {
      await page.goto(hub.url + path);
      t.equal(await page.locator("h1").count(), 1, `${name} has one main heading`);
      t.strictSame(await violations(page), [], `${name}, light`);
      await page.emulateMedia({ colorScheme: "dark" });
      // The schemes differ in nothing but colours.
      t.strictSame(await violations(page, ["color-contrast"]), [], `${name}, dark`);
      await page.emulateMedia({ colorScheme: "light" });
      await fits(page, name);
    }
    await page.context().close();
    t.strictSame(troubles, [], "no policy was broken, and no script failed");
  });

  t.test("dates fit a phone in every language, and so do the forms of a held version", async (t) => {
    const slug = "held-tide";
    const { body } = await hub.call("POST", "/devkeys/projects", { json: { name: "Held", kind: "plugin", slug } });
    const { id } = body as { id: string };
    await publishFiles(hub, { slug, version: "1.0.0" }, { "plugin.yaml": `name: ${slug}\n` });
    await hub.call("POST", `/devkeys/projects/${id}/rollouts`, { json: { version: "1.5.0" } });
    await publishFiles(hub, { slug, version: "2.0.0" }, { "plugin.yaml": `name: ${slug}\n` });
    for (const locale of ["en-US", "pt-BR"]) {
      const page = await opened({ locale });
      await signIn(page, hub.url, hub.adminKey);
      await page.goto(`${hub.url}/plugins/${slug}`);
      t.equal(await page.getByText("Release", { exact: true }).count(), 1);
      await fits(page, `the page of a held version in ${locale}`);
      await page.goto(hub.url + pagesOf(shown.project.id).host!);
      await fits(page, `the page of a host in ${locale}`);
      await page.context().close();
    }
  });

  t.test("on a phone, an administrator's ways stand in a menu that needs no script", async (t) => {
    const page = await opened({ javaScriptEnabled: false, viewport: { width: 360, height: 740 } });
    await signIn(page, hub.url, hub.adminKey);
    const height = async (): Promise<number> => (await page.locator("header.top").boundingBox())!.height;
    const ways = page.getByRole("navigation", { name: "Hub" });
    t.equal(await ways.count(), 0, "it is closed");
    t.ok((await height()) < 80, "and the header takes one line");
    await page.getByText("Menu", { exact: true }).press("Enter");
    t.equal(await ways.getByRole("link").count(), 5, "what is needed each day stands in it");
    await ways.getByText("More", { exact: true }).press("Enter");
    await ways.getByRole("link", { name: "Webhooks" }).click();
    await page.getByRole("heading", { name: "Webhooks" }).waitFor();
    t.equal(await ways.count(), 0, "each page begins with a closed one");
    await page.setViewportSize({ width: 1280, height: 900 });
    t.equal(await ways.count(), 1, "on a wide screen the ways need no menu");
    t.equal(await page.getByText("Menu", { exact: true }).isVisible(), false);
    await page.context().close();
  });

  t.test("a person with a keyboard signs in, skips to the content, searches and opens what is found", async (t) => {
    const page = await opened();
    await page.goto(`${hub.url}/sign-in`);
    await page.locator("#key:focus").waitFor();
    await page.keyboard.type(hub.adminKey);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Catalogue" }).waitFor();
    await page.keyboard.press("Tab");
    t.equal(await page.evaluate("document.activeElement.textContent"), "Skip to the content");
    await page.keyboard.press("Enter");
    t.equal(await page.evaluate("document.activeElement.id"), "main");
    const focused = async (wanted: string): Promise<void> => {
      for (let presses = 0; presses < 40; presses++) {
        if ((await page.evaluate("document.activeElement.id || document.activeElement.textContent")) === wanted) return;
        await page.keyboard.press("Tab");
      }
      t.fail(`no way to ${wanted}`);
    };
    await focused("q");
    await page.keyboard.type("tide");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/?q=tide");
    await focused("Tide table");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "README" }).waitFor();
    await page.context().close();
  });

  t.test("a report arrives while a person looks, and times are in the person's zone", async (t) => {
    const page = await opened();
    await signIn(page, hub.url, hub.adminKey);
    const streamed = page.waitForResponse((response) => response.url().includes("/live/"));
    await page.goto(`${hub.url}/plugins/tide-table/fleet`);
    await streamed;
    t.match(await page.getByText(/^Times are in/).textContent(), "Europe/Berlin");
    t.notMatch(await page.locator("time").first().textContent(), "UTC");
    t.match(await page.locator("time").first().getAttribute("title"), /\(\d{4}-.*Z\)$/);
    // The hub's first look at the fleet may come after the first report.
    for (let host = 1; (await page.getByRole("link", { name: /^late-/ }).count()) === 0 && host < 20; host++) {
      await report(hub, { slug: "tide-table", host: `late-${host}`, version: "1.2.0" });
      await page
        .getByRole("link", { name: /^late-/ })
        .first()
        .waitFor({ timeout: 3000 })
        .catch(() => undefined);
    }
    t.ok(await page.getByRole("link", { name: /^late-/ }).count());
    t.match(await page.getByRole("status").textContent(), "up to date");
    await page.context().close();
  });

  t.test("hostile names, READMEs and errors run nothing, and load nothing", async (t) => {
    const hostile = `"><img src=https://evil.example/x onerror="window.attacked=1"><script>window.attacked=1</script>`;
    await hub.call("POST", "/devkeys/projects", { json: { name: hostile, kind: "plugin", slug: "hostile" } });
    const readme = `# ${hostile}\n\n[a](javascript:window.attacked=1) ![b](https://evil.example/x)\n\n${hostile}\n`;
    const files = { "README.md": readme, "plugin.yaml": "name: hostile\n" };
    await publishFiles(hub, { slug: "hostile", version: "1.0.0" }, files);
    await report(hub, {
      slug: "hostile",
      host: "<svg/onload=attacked=1>",
      version: "1.0.0",
      status: "failed",
      error: hostile,
    });
    const page = await opened();
    page.on("request", (request) => {
      if (!request.url().startsWith(hub.url)) troubles.push(request.url());
    });
    await signIn(page, hub.url, hub.adminKey);
    for (const path of ["/", "/plugins/hostile", "/plugins/hostile/fleet", "/fleets"]) {
      await page.goto(hub.url + path, { waitUntil: "load" });
      t.equal(await page.evaluate("window.attacked"), undefined, path);
    }
    await page.goto(`${hub.url}/plugins/hostile`);
    t.equal(await page.getByRole("link", { name: "a", exact: true }).count(), 0, "no link to a script");
    t.strictSame(troubles, []);
    await page.context().close();
  });

  t.test("a person comes back from an identity provider on another site, signed in, without script", async (t) => {
    const issuer = await startIssuer(t, "localhost");
    const signOn = signOnBy(issuer, [{ scopes: ["projects", "read"] }]);
    const { url } = await startHub(t, { dataDir: `${t.testdir()}/signed-on`, ...signOn });
    const page = await opened({ javaScriptEnabled: false });
    await page.goto(`${url}/webhooks`);
    await page.getByRole("link", { name: "Sign in by localhost" }).click();
    await page.getByText("No webhooks yet.").waitFor();
    t.equal(page.url(), `${url}/webhooks`);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").waitFor();
    await page.context().close();
  });

  t.test("without script, a rollout is approved and a key created", async (t) => {
    const page = await opened({ javaScriptEnabled: false });
    await signIn(page, hub.url, hub.adminKey);
    await page.goto(`${hub.url}/plugins/tide-table/rollouts`);
    t.match(await page.locator("footer").textContent(), "Times are in UTC.");
    await page.getByText("Pause", { exact: true }).click();
    await page.getByLabel("Reason").first().fill("tea");
    await page.getByRole("button", { name: "Pause the rollout" }).click();
    await page.getByText("paused", { exact: true }).waitFor();
    await page.goto(`${hub.url}/keys`);
    await page.getByText("Create a key").click();
    await page.getByLabel("Name").fill("a host's");
    await page.getByRole("button", { name: "Create the key" }).click();
    t.match(await page.locator("code").first().textContent(), /^slk_/);
    await page.context().close();
  });
});
