// Holds: what a transfer carries with it (lib/hub/features/trust/feature.ts)
/** Another owner of the hub wants to say which signers somebody's hosts follow. */
import t from "tap";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { createProject, isErrorBody, publication, startHub } from "../../support/hub/harness.ts";
import { trustAt } from "../../support/hub/trust.ts";

t.test("no key of another owner, and none without the scope, changes whom hosts follow", async (t) => {
  const hub = await startHub(t);
  const { publish, leave, show } = trustAt(hub);
  const keyOf = async (json: object): Promise<string> =>
    (await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", ...json } })).body.key as string;
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const bearer = await project.session();
  const read = (version: number) =>
    hub.call("GET", `/app/deploy/v1/projects/${project.id}/roots/${version}`, { bearer });
  const chain = rootChain();
  const one = chain.version(1, [heldKey()]);
  await publish(one, [project.id]);

  const thief = await keyOf({ owner: "thief", scopes: ["projects", "publish", "deploy", "read"] });
  isErrorBody(t, await publish(one, [project.id], thief), 404, "not_found");
  isErrorBody(t, await leave(project.id, thief), 404, "not_found");
  // A root of the same id with other keys is the thief's own, and nobody's hosts get it.
  const own = rootChain();
  const copied = own.version(1, [heldKey()], { id: chain.id });
  t.match(await publish(copied, undefined, thief), { status: 201, body: { owner: "thief", targets: [] } });
  t.equal((await publish(own.version(2, [heldKey()], { id: chain.id }), undefined, thief)).status, 201);
  t.equal((await read(1)).bytes.toString(), one);
  isErrorBody(t, await read(2), 404, "not_found");
  t.match((await show(chain.id)).body, { owner: "admin", version: 1 });

  for (const scopes of [["publish"], ["deploy"], ["read"], ["keys"]]) {
    const key = await keyOf({ scopes });
    isErrorBody(t, await publish(chain.version(2, [heldKey()]), undefined, key), 403, "forbidden");
    isErrorBody(t, await leave(project.id, key), 403, "forbidden");
  }

  await hub.call("POST", `/devkeys/projects/${project.id}/transfer`, { json: { owner: "thief", keep_keys: true } });
  isErrorBody(t, await read(1), 404, "not_found");
  const latest = await hub.call("GET", `/app/deploy/v1/projects/${project.id}/versions/latest`, { bearer });
  t.notOk("root_version" in latest.body, "a new owner's hub names no root of the former one");
  t.equal((await publish(chain.version(2, [heldKey()]))).status, 201);
  isErrorBody(t, await read(2), 404, "not_found");
});
