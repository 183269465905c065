import t from "tap";
import { startWorkflow } from "../../support/hub/publishers.ts";

t.test("a token of another repository is refused, and the answer says how it differs", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await trust({ target: "plugin:tide" });
  const answer = await exchange("plugin:tide", await run({ repository_id: "42", sub: "repo:evil/tide" }));
  t.match(answer, { status: 403, body: { detail: /repository_id is "42", not "41"/ } });
  t.equal((await exchange("plugin:tide", await run())).status, 201, "an honest run is served");
});
