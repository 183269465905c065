// Holds: whose labels of a host count (lib/hub/records/host-columns.ts)
import t from "tap";
import { labelsOf } from "../../../../lib/hub/records/host-columns.ts";

t.test("labels that an operator gives a host replace all that it gives itself", (t) => {
  const own = { labels: { env: "prod", site: "north" } };
  t.same(labelsOf(own, null), { env: "prod", site: "north" });
  t.same(labelsOf(own, JSON.stringify({ env: "canary" })), { env: "canary" });
  t.same(labelsOf(own, "{}"), {}, "also where there are none");
  t.same(labelsOf({}, null), {});
  t.end();
});
