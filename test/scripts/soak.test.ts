import t from "tap";
import { soak } from "../../scripts/soak/soak.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

t.test("seconds of everything, killed at random, leave whole releases and nothing else", async (t) => {
  const { lines, faults } = await soak({ folder: temporaryFolder(t), durationMs: 8_000, seed: 1 });
  for (const line of lines) t.comment(line);
  t.same([...faults], []);
  t.match(lines[0], /^[1-9]\d* versions published/);
});
