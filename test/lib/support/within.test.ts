import t from "tap";
import { settledWithin, within } from "../../../lib/support/within.ts";

const late = () => new Error("too late");
const never = new Promise<never>(() => undefined);

t.test("work that is in time settles as it does by itself", async (t) => {
  t.equal(await within(Promise.resolve("done"), 10_000, late), "done");
  await t.rejects(within(Promise.reject(new Error("its own")), 10_000, late), { message: "its own" });
});

t.test("work that takes too long is given up, and its late rejection reaches nobody", async (t) => {
  const work = Promise.withResolvers<string>();
  await t.rejects(within(work.promise, 1, late), { message: "too late" });
  work.reject(new Error("nobody listens any more"));
  await new Promise(setImmediate);
});

t.test("settledWithin tells whether work has ended, and does not mind how", async (t) => {
  t.equal(await settledWithin(Promise.resolve(), 10_000), true);
  t.equal(await settledWithin(Promise.reject(new Error("whatever")), 10_000), true);
  t.equal(await settledWithin(never, 1), false);
});
