import t from "tap";
import { startWorkflow } from "../../support/hub/publishers.ts";

t.test("whoever takes over the name of a renamed repository has other ids", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await trust({ target: "plugin:tide" });
  const answer = await exchange(
    "plugin:tide",
    await run({ repository: "acme/tide", repository_id: "77", repository_owner_id: "88" }),
  );
  t.match(answer, { status: 403, body: { detail: /repository_id is "77"/ } });
  t.equal((await exchange("plugin:tide", await run())).status, 201, "an honest run is served");
  // The repository itself goes by another name since, with its old ids.
  const moved = await run({ repository: "acme/tide-table", sub: "repo:acme/tide-table:ref:refs/heads/main" });
  t.equal((await exchange("plugin:tide", moved)).status, 201);
});
