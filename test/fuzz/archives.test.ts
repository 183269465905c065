import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { ArchiveJudge, fuzzArchives } from "../../scripts/fuzz/judge-archive.ts";
import { READER_PROGRAMS } from "../../scripts/fuzz/program-readers.ts";
import { Random } from "../../scripts/fuzz/random.ts";
import { needsProgram } from "../support/forged/independent.ts";

const versionFlag = (name: string): string => (name === "unzip" ? "-v" : "--version");
const skip = READER_PROGRAMS.map((name) => needsProgram(name, versionFlag(name))).find((why) => why !== false) ?? false;

t.test("every reader takes what is unpacked in the same way", { skip }, async (t) => {
  const { accepted, found } = await fuzzArchives(1_500, 1, 12);
  for (const { kind, seed, why } of found) t.fail(`seed ${seed}, a ${kind}: ${why}`);
  t.ok(accepted > 200, `${accepted} accepted`);
});

t.test("what was found once is refused", { skip }, async (t) => {
  const folder = join(import.meta.dirname, "fixtures");
  await using judge = new ArchiveJudge();
  for (const name of readdirSync(folder)) {
    const kind = /\.(tar|zip)$/.exec(name)?.[1] as "tar" | "zip" | undefined;
    if (kind === undefined) continue;
    t.same(await judge.judge(kind, readFileSync(join(folder, name)), new Random(1), false), { accepted: false }, name);
  }
});
