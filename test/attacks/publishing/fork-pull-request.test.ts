import t from "tap";
import { startWorkflow } from "../../support/hub/publishers.ts";

t.test("a pull request of a fork has the ids of the fork", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await trust({ target: "plugin:tide" });
  const answer = await exchange(
    "plugin:tide",
    await run({ repository_id: "99", repository_owner_id: "1000", event_name: "pull_request" }),
  );
  t.match(answer, { status: 403, body: { detail: /repository_id is "99".+repository_owner_id is "1000"/ } });
  t.equal((await exchange("plugin:tide", await run())).status, 201, "an honest run is served");
});
