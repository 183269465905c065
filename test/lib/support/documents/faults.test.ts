import t from "tap";
import * as z from "zod";
import { faultsOf } from "../../../../lib/support/documents/faults.ts";

const schema = z.object({
  name: z.string(),
  steps: z.array(z.object({ id: z.string(), wait: z.number() })),
});
const faults = (value: unknown): string[] => faultsOf(schema.safeParse(value).error!, { value });

t.test("items of lists are called by their id, where they have a plain one", (t) => {
  const steps = [{ id: "install", wait: 1 }, { id: "check", wait: "x" }, { wait: "x" }, { id: "a\nb", wait: "x" }];
  t.match(faults({ name: "n", steps }), [
    /^steps\[check\]\.wait: /,
    /^steps\.2\.id: /,
    /^steps\.2\.wait: /,
    /^steps\.3\.wait: /,
  ]);
  t.match(faults({ name: "n", steps: [{ id: {}, wait: 1 }, null] }), [/^steps\.0\.id: /, /^steps\.1: /]);
  t.end();
});

t.test("what is missing is called missing", (t) => {
  t.same(faults({ steps: [{ id: "install" }] }), [
    "name: is missing (a text)",
    "steps[install].wait: is missing (a number)",
  ]);
  t.match(faultsOf(schema.safeParse(undefined).error!), ["is missing (a mapping)"]);
  t.end();
});
