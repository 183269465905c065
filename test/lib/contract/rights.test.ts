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
