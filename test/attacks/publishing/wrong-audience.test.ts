import t from "tap";
import { startWorkflow } from "../../support/hub/publishers.ts";

t.test("a token that was made for another hub is refused", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await trust({ target: "plugin:tide" });
  const answer = await exchange("plugin:tide", await run({ aud: "https://other.example.org" }));
  t.match(answer, { status: 403, body: { detail: /aud is .+other.example.org.+, not .+hub.example.org/ } });
  t.equal((await exchange("plugin:tide", await run())).status, 201, "an honest run is served");
});
