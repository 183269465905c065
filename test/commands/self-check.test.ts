import { readdirSync } from "node:fs";
import t from "tap";
import { start } from "../support/programs/watch-program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

t.test("a check that is interrupted ends at once, and leaves nothing behind", async (t) => {
  const folder = temporaryFolder(t);
  const check = start(t, "sealift", ["self-check", "--json"], { cwd: folder, env: { TMPDIR: folder } });
  await check.untilEvent("finding");
  const began = performance.now();
  check.child.kill("SIGINT");
  t.equal((await check.ended).code, 130);
  t.ok(performance.now() - began < 10_000, "it waits for no time limit");
  t.strictSame(readdirSync(folder), []);
});
