import t from "tap";
import { startWorkflow } from "../../support/hub/publishers.ts";

t.test("a name that somebody else has taken meanwhile stays theirs", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  await trust({ creates: { kind: "plugin", slug: "tide", name: "Tide" } });
  const key = { json: { name: "other", owner: "other", scopes: ["publish", "projects"] } };
  const other = (await hub.call("POST", "/devkeys/api-keys", key)).body.key as string;
  const project = { json: { name: "Mine", kind: "plugin", slug: "tide" }, key: other };
  t.equal((await hub.call("POST", "/devkeys/projects", project)).status, 201);
  const answer = await exchange("plugin:tide", await run());
  t.match(answer, { status: 409, body: { detail: /tide is taken/ } });
  t.equal(answer.body.key, undefined);
  // A name that was deleted is nobody's any more.
  await trust({ creates: { kind: "plugin", slug: "gone", name: "Gone" }, name: "gone" });
  const gone = await hub.call("POST", "/devkeys/projects", {
    ...project,
    json: { ...project.json, slug: "gone", same_name: true },
  });
  await hub.call("DELETE", `/devkeys/projects/${gone.body.id}?force=true`);
  t.match(await exchange("plugin:gone", await run()), { status: 409, body: { detail: /was deleted/ } });
});
