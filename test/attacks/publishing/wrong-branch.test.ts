import t from "tap";
import { startWorkflow } from "../../support/hub/publishers.ts";

t.test("a token of another branch is refused", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await trust({ target: "plugin:tide" });
  const answer = await exchange(
    "plugin:tide",
    await run({ workflow_ref: "acme/tide/.github/workflows/release.yml@refs/heads/evil" }),
  );
  t.match(answer, { status: 403, body: { detail: /workflow_ref is .+heads\/evil/ } });
  t.equal((await exchange("plugin:tide", await run())).status, 201, "an honest run is served");
});
