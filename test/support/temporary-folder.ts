import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";

/** A folder of its own at each call, gone with the test; a program that the test has ended may still write there. */
export function temporaryFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "sealift-test-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
  return folder;
}
