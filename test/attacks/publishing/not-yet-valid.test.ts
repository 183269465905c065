import t from "tap";
import { startWorkflow } from "../../support/hub/publishers.ts";

t.test("a token that is not valid yet is refused", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await trust({ target: "plugin:tide" });
  const now = Math.floor(Date.now() / 1000);
  const answer = await exchange("plugin:tide", await run({ nbf: now + 600 }));
  t.match(answer, { status: 401, body: { detail: /not valid yet/ } });
  t.equal((await exchange("plugin:tide", await run())).status, 201, "an honest run is served");
});
