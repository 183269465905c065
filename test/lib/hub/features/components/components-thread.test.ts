// Holds: an SBOM is read on a thread as it is read here (lib/hub/features/components/components-thread.ts)
import t from "tap";
import { componentsByThread } from "../../../../../lib/hub/features/components/components-thread.ts";
import { billOf } from "../../../../support/hub/statements.ts";

t.test("components come in batches, sorted and each once", async (t) => {
  const components = Array.from({ length: 2500 }, (_, index) => ({ name: `c${index % 2400}`, version: "1" }));
  const found: string[][] = [];
  for await (const { digests, rows } of componentsByThread(billOf(components))) {
    found.push(JSON.parse(digests) as string[]);
    t.strictSame(
      (JSON.parse(rows) as string[][]).map(([digest]) => digest),
      found.at(-1),
    );
  }
  t.strictSame(
    found.map((batch) => batch.length),
    [1000, 1000, 400],
  );
  t.strictSame(found.flat(), [...new Set(found.flat())].sort());
});

t.test(
  "what is wrong with an SBOM is said by the thread's error, and a reader who stops ends the thread",
  async (t) => {
    const broken = componentsByThread(Buffer.from("{"));
    await t.rejects(broken.next(), { code: "statement_invalid" });
    const left = componentsByThread(billOf([{ name: "c", version: "1" }]));
    await left.next();
    await left.return(undefined);
    t.match(await left.next(), { done: true });
  },
);
