import t from "tap";
import { startWorkflow } from "../../support/hub/publishers.ts";

t.test("an address that tries tokens is held back, as one that tries keys is", async (t) => {
  const { hub, trust, exchange } = await startWorkflow(t, {
    rateLimits: { requestsPerMinute: 1000, failuresPerMinute: 5 },
  });
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await trust({ target: "plugin:tide" });
  const statuses: number[] = [];
  for (let turn = 0; turn < 7; turn++) statuses.push((await exchange("plugin:tide", `a.b.${turn}`)).status);
  t.same(statuses, [401, 401, 401, 401, 401, 429, 429]);
});
