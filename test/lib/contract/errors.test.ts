import { mkdirSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import t from "tap";
import { asSealiftError } from "../../../lib/contract/errors.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

t.test("a working folder that is gone is the caller's matter, and no defect", async (t) => {
  const before = process.cwd();
  const folder = `${temporaryFolder(t)}/gone`;
  mkdirSync(folder);
  process.chdir(folder);
  rmSync(folder, { recursive: true });
  try {
    let thrown: unknown;
    try {
      resolve("x");
    } catch (error) {
      thrown = error;
    }
    t.match(asSealiftError(thrown), { code: "usage", exitCode: 2 });
  } finally {
    process.chdir(before);
  }
});
