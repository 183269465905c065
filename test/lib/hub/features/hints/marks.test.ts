import t from "tap";
import { heldKey, rootChain } from "../../../../support/forged/roots.ts";
import { createProject, startHub } from "../../../../support/hub/harness.ts";
import { FLEET_SCOPES, fleetOf } from "../../../../support/hub/project-fleet.ts";
import { report } from "../../../../support/hub/shown-hub.ts";

t.test("a mark of a target changes with its fleet and its versions, and says nothing to others", async (t) => {
  const hub = await startHub(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "T", kind: "plugin", slug: "tide" } });
  const project = await createProject(hub, FLEET_SCOPES);
  const fleet = await fleetOf(hub, project);
  const marks = async (key = hub.adminKey) => {
    const targets = `plugin:tide,plugin:none,project:${project.id}`;
    const { body } = await hub.call("GET", `/app/deployments/v1/marks?targets=${targets}`, { key });
    return (body as { targets: { target: string; mark: string }[] }).targets;
  };
  const first = await marks();
  t.strictSame(
    first.map(({ target }) => target),
    ["plugin:tide", `project:${project.id}`],
  );
  t.strictSame(await marks(), first);
  await report(hub, { slug: "tide", version: "1.0.0", host: "a" });
  const second = await marks();
  t.not(second[0]!.mark, first[0]!.mark);
  t.equal(second[1]!.mark, first[1]!.mark);
  await fleet.report("web", "1.0.0");
  const third = await marks();
  t.not(third[1]!.mark, first[1]!.mark);
  const json = { root: rootChain().version(1, [heldKey()]), targets: [project.id] };
  t.equal((await hub.call("POST", "/devkeys/roots", { json })).status, 201);
  t.not((await marks())[1]!.mark, third[1]!.mark, "with the trust root that it follows, too");
  const stranger = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "k", owner: "else", scopes: ["read"] },
  });
  const theirs = await marks(stranger.body.key as string);
  t.strictSame(
    theirs.map(({ target }) => target),
    ["plugin:tide"],
    "a public plugin only",
  );
  t.equal(theirs[0]!.mark, first[0]!.mark, "without the reports of others");
});

t.test("the routes of hints are in the OpenAPI document", async (t) => {
  const hub = await startHub(t);
  const { paths } = (await hub.call("GET", "/openapi.json")).body as { paths: Record<string, object> };
  t.match(paths, { "/app/deployments/v1/changes": { get: {} }, "/app/deployments/v1/poll": { post: {} } });
});
