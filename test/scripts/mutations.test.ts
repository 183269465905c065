import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { MUTATIONS } from "../../scripts/simulate/mutation-list.ts";

const HUB = join(import.meta.dirname, "../../lib/hub");

for (const { clause, file, edits } of MUTATIONS)
  t.test(`without "${clause}" the code would be another one`, (t) => {
    for (const [find, replace, other = file] of edits) {
      t.equal(readFileSync(join(HUB, other), "utf8").split(find).length - 1, 1, `${other} has once: ${find}`);
      t.not(find, replace);
    }
    t.end();
  });
