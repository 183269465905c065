// Only in test:all: random cases.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { fuzzAnswers, judgeAnswer } from "../../scripts/fuzz/answers.ts";
import { fuzzYaml, judgeYaml } from "../../scripts/fuzz/documents.ts";
import { fuzzFrames, judgeProcess } from "../../scripts/fuzz/frames.ts";
import { fuzzEach, type Outcome } from "../../scripts/fuzz/outcome.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const runs: [name: string, run: (folder: string) => Promise<Outcome>][] = [
  ["YAML is read as it says, in its time, or refused in a few words", () => fuzzYaml({ count: 800, seed: 1 })],
  [
    "answers of a hub are read as any JSON parser reads them, or refused in a few words",
    () => fuzzAnswers({ count: 600, seed: 1 }),
  ],
  [
    "frames of a sandbox break neither the runtime nor another call",
    (folder) => fuzzFrames({ count: 600, seed: 1 }, folder),
  ],
];
for (const [name, run] of runs) {
  t.test(name, async (t) => {
    const { accepted, found } = await run(temporaryFolder(t));
    for (const { seed, why } of found) t.fail(`seed ${seed}: ${why}`);
    t.ok(accepted > 100, `${accepted} accepted`);
  });
}

t.test("what was found once is treated as it should be", async (t) => {
  const folder = join(import.meta.dirname, "fixtures");
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, name));
    if (name.endsWith(".yaml")) t.notOk("why" in (await judgeYaml(bytes.toString("utf8"))), name);
    if (name.endsWith(".json")) t.notOk("why" in (await judgeAnswer(bytes)), name);
    if (name.endsWith(".frames")) t.notOk("why" in (await judgeProcess(bytes, temporaryFolder(t))), name);
  }
});

t.test("a case that takes much memory is found", async (t) => {
  const judge = async (seed: number) => {
    const taken = Buffer.alloc(seed === 3 ? 400 * 1024 * 1024 : 1024, 1);
    return { accepted: taken.length > 0, kind: "json" as const, bytes: Buffer.from(String(seed)) };
  };
  const { found, accepted } = await fuzzEach({ count: 5, seed: 1 }, judge);
  t.match(found, [{ seed: 3, why: /it takes \d+ MB/ }]);
  t.equal(accepted, 4);
});
