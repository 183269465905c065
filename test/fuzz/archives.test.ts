import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { ours } from "../../scripts/fuzz/archives.ts";
import { Random } from "../../scripts/fuzz/random.ts";
import { fuzzArchives } from "../../scripts/fuzz/run.ts";
import { needsProgram } from "../support/forged/independent.ts";

t.test("what is unpacked, Python reads in the same way", { skip: needsProgram("python3") }, async (t) => {
  const { accepted, found } = await fuzzArchives(2_000, 1);
  for (const { kind, seed, why } of found) t.fail(`seed ${seed}, a ${kind}: ${why}`);
  t.ok(accepted > 200, `${accepted} accepted`);
});

t.test("what was found once is refused", async (t) => {
  const folder = join(import.meta.dirname, "fixtures");
  for (const name of readdirSync(folder)) {
    const kind = name.endsWith(".tar") ? "tar" : "zip";
    const listing = await ours(kind, readFileSync(join(folder, name)), join(t.testdir({}), "tree"), new Random(1));
    t.equal(listing, undefined, name);
  }
});
