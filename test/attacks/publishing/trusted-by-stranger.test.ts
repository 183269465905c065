/** A stranger trusts the workflow of a victim, whose claims are not secret, for a target of the same name. */
import t from "tap";
import { startWorkflow } from "../../support/hub/publishers.ts";

const CLAIM = { claims: { repository_id: "41" } };

async function start(t: Parameters<typeof startWorkflow>[0]) {
  const workflow = await startWorkflow(t);
  const keyOf = async (owner: string): Promise<string> => {
    const json = { name: owner, owner, scopes: ["keys", "publish", "projects"] };
    return (await workflow.hub.call("POST", "/devkeys/api-keys", { json })).body.key as string;
  };
  const create = async (key: string, json: object): Promise<string> =>
    (await workflow.hub.call("POST", "/devkeys/projects", { key, json })).body.id as string;
  return { ...workflow, create, mallory: await keyOf("mallory"), acme: await keyOf("acme") };
}

t.test("a run that calls a project by its name gets no key for a stranger's project", async (t) => {
  const { trust, run, exchange, create, mallory, acme } = await start(t);
  const named = { name: "Harbour", kind: "project" };
  t.equal((await trust({ target: `project:${await create(mallory, named)}`, ...CLAIM }, mallory)).status, 201);
  const own = await create(acme, named);
  t.equal((await trust({ target: `project:${own}` }, acme)).status, 201);
  t.match(await exchange("project:Harbour", await run()), { status: 409, body: { detail: /name yours by its id/ } });
  t.equal((await exchange(`project:${own}`, await run())).body.project_id, own);
  // Nor does a publisher of the victim that differs leave the run to the stranger.
  t.equal((await exchange("project:Harbour", await run({ workflow_ref: "another" }))).status, 409);
});

t.test("a project that is named like the id of another one is not found by it", async (t) => {
  const { trust, run, exchange, create, mallory, acme } = await start(t);
  const own = await create(acme, { name: "Harbour", kind: "project" });
  await trust({ target: `project:${await create(mallory, { name: own, kind: "project" })}`, ...CLAIM }, mallory);
  t.equal((await exchange(`project:${own}`, await run())).status, 403);
  await trust({ target: `project:${own}` }, acme);
  t.equal((await exchange(`project:${own}`, await run())).body.project_id, own);
});

t.test("a slug that two owners await is created for neither", async (t) => {
  const { trust, run, exchange, create, mallory, acme } = await start(t);
  const creates = { kind: "plugin", slug: "tide", name: "Tide" } as const;
  await trust({ creates, ...CLAIM }, mallory);
  await trust({ creates }, acme);
  t.match(await exchange("plugin:tide", await run()), { status: 409, body: { detail: /Several owners/ } });
  const own = await create(acme, creates);
  await trust({ target: "plugin:tide" }, acme);
  t.match((await exchange("plugin:tide", await run())).body, { project_id: own, created: false });
});
