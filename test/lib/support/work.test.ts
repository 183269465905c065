import t from "tap";
import { isWatched, traced, traceEnvironment, type Work, works } from "../../../lib/support/work.ts";

t.test("work that nobody hears of runs alone, and continues no trace", async (t) => {
  t.equal(isWatched(), false);
  t.equal(await traced("alone", {}, async ({ trace }) => trace ?? "none"), "none");
  t.strictSame(traceEnvironment(), {});
});

t.test("a subscriber hears of the beginning and the end of work, with its facts and its error", async (t) => {
  const heard: unknown[] = [];
  const hears = {
    start: ({ name, facts }: Work) => heard.push(["start", name, { ...facts }]),
    end: () => undefined,
    asyncStart: () => undefined,
    error: ({ error }: Work & { error: unknown }) => heard.push(["error", (error as Error).message]),
    asyncEnd: ({ name, facts, failure }: Work) => heard.push(["end", name, { ...facts }, failure]),
  };
  works.subscribe(hears);
  t.teardown(() => works.unsubscribe(hears));
  t.equal(isWatched(), true);
  const done = await traced("one", { a: 1 }, async (work) => {
    work.set({ b: 2 });
    work.fail("exit_1");
    return "done";
  });
  t.equal(done, "done");
  await t.rejects(
    traced("two", {}, () => {
      throw new Error("at once");
    }),
    { message: "at once" },
  );
  t.strictSame(heard, [
    ["start", "one", { a: 1 }],
    ["end", "one", { a: 1, b: 2 }, "exit_1"],
    ["start", "two", {}],
    ["error", "at once"],
    ["end", "two", {}, undefined],
  ]);
});
