import { mkdirSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
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

t.test("a wait that its time limit ended is not told as interrupted by a signal", async (t) => {
  const limit = AbortSignal.timeout(1);
  const waited: unknown = await sleep(60_000, undefined, { signal: limit }).catch((error: unknown) => error);
  t.match(waited, { code: "ABORT_ERR" }, "Node's own error is an abort");
  t.match(asSealiftError(waited), { code: "timed_out", message: "It took longer than its time limit." });
  t.match(asSealiftError(limit.reason), { code: "timed_out" });
  const stop = new AbortController();
  const going = sleep(60_000, undefined, { signal: AbortSignal.any([stop.signal, AbortSignal.timeout(50_000)]) });
  stop.abort();
  t.match(asSealiftError(await going.catch((error: unknown) => error)), { code: "interrupted" });
});
