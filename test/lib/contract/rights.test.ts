import t from "tap";
import { descriptor } from "../../../lib/contract/files/descriptor.ts";
import { moreRights, rightsOf } from "../../../lib/contract/rights.ts";

t.test("more of the processor is a right like memory and time", (t) => {
  const asking = (resources: object) => descriptor.parse({ name: "a", version: "1.0.0", resources });
  const [none, half, whole] = [asking({}), asking({ cpu_percent: 50 }), asking({ cpu_percent: 100 })];
  t.same(moreRights(half, whole), ["cpu_percent: 100 instead of 50"]);
  t.same(moreRights(half, none), ["cpu_percent: the operator's limit instead of 50"]);
  t.same(moreRights(none, half), [], "who states none has all that the operator leaves");
  t.same(moreRights(whole, half), []);
  t.ok(rightsOf(half).includes("processor: 50 % of one core"));
  t.end();
});

t.test("a higher rate of calls is a right like memory and time", (t) => {
  const asking = (calls: number, period_seconds: number, extra: object = {}) =>
    descriptor.parse({ name: "a", version: "1.0.0", resources: { rate_limit: { calls, period_seconds } }, ...extra });
  const usual = descriptor.parse({ name: "a", version: "1.0.0" });
  t.same(moreRights(usual, asking(100_000, 60)), ["rate_limit: 100000 in 60 s instead of 100 in 60 s"]);
  t.same(moreRights(asking(100, 60), asking(50, 10)), ["rate_limit: 50 in 10 s instead of 100 in 60 s"]);
  t.same(moreRights(asking(100, 60), usual), []);
  t.same(moreRights(asking(100, 60), asking(10, 60)), []);
  t.end();
});
