// Holds: what a token must say (lib/hub/features/publishers/claims.ts, lib/contract/publishers/claims.ts)
import t from "tap";
import { startWorkflow } from "../../support/hub/publishers.ts";

t.test("a claim that is a list with the right text in it is not that text", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await trust({ target: "plugin:tide" });
  const answer = await exchange("plugin:tide", await run({ repository_id: ["41", "42"] }));
  t.match(answer, { status: 403, body: { detail: /repository_id is missing, not "41"/ } });
  t.equal((await exchange("plugin:tide", await run())).status, 201, "an honest run is served");
});
