/** A real browser for the pages of a hub. */
import { type Browser, chromium, type Page } from "playwright-core";
import { programFile } from "./optional.ts";

/** Starts the installed Chromium, without a window. The caller closes it. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: programFile("chromium"),
    // Root has no sandbox of Chromium's, and tests open pages of their own hub only.
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"],
  });

/** Signs in as a person does. */
export async function signIn(page: Page, url: string, key: string): Promise<void> {
  await page.goto(`${url}/sign-in`);
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}
