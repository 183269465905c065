import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import t from "tap";
import { FEATURES } from "../../../../../lib/hub/features.ts";
import { rolloutPulses } from "../../../../../lib/hub/features/rollouts/records.ts";
import { openDatabase } from "../../../../../lib/hub/records/database.ts";

t.test("the look at all live rollouts reads none that has ended long ago", async (t) => {
  const dataDir = t.testdir();
  const statements: string[] = [];
  const database = await openDatabase({ hooks: FEATURES, dataDir, onStatement: (text) => statements.push(text) });
  t.teardown(() => database.close());
  statements.length = 0;
  t.strictSame(await rolloutPulses(database.kysely, new Date().toISOString()), []);
  t.equal(statements.length, 1);
  using sqlite = new DatabaseSync(join(dataDir, "hub.sqlite"), { readOnly: true });
  const plan = sqlite.prepare(`EXPLAIN QUERY PLAN ${statements[0]}`).all() as { detail: string }[];
  const steps = plan.map(({ detail }) => detail);
  t.strictSame(
    steps.filter((detail) => detail.startsWith("SCAN")),
    [],
    steps.join("; "),
  );
  for (const index of ["rollouts_state", "rollouts_counted"])
    t.ok(
      steps.some((detail) => detail.includes(`USING INDEX ${index} `)),
      `${index}: ${steps.join("; ")}`,
    );
});
