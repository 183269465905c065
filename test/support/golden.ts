import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Test } from "tap";

const FILES = join(import.meta.dirname, "../golden/files");

/**
 * Compares a text with the file of that name in `test/golden/files`. With `SEALIFT_GOLDEN=write` it writes the file
 * instead: `npm run golden` does so for all, and the change is read in the commit's diff.
 */
export function golden(t: Test, name: string, text: string): void {
  const path = join(FILES, name);
  const found = text.endsWith("\n") ? text : `${text}\n`;
  if (process.env["SEALIFT_GOLDEN"] === "write") {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, found);
  }
  t.equal(found, readFileSync(path, "utf8"), `test/golden/files/${name} (npm run golden writes it)`);
}
