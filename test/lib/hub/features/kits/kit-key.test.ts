// Holds: a hub has one key with which it signs kits (lib/hub/features/kits/routes.ts)
import t from "tap";
import { FEATURES } from "../../../../../lib/hub/features.ts";
import { rotateKek } from "../../../../../lib/hub/keys/rotate-kek.ts";
import { createProject, publication, type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { offlineHost } from "../../../../support/hub/kits.ts";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { startTwoHubs } from "../../../../support/hub/two-hubs.ts";

const keyOf = async (hub: RunningHub): Promise<unknown> => (await hub.call("GET", "/devkeys/kits/key")).body["hub_key"];

t.test("the key of a hub outlives its process and the KEK that its secret is sealed under", async (t) => {
  const hub = await startHub(t);
  const key = await keyOf(hub);
  t.match(key, /^[0-9a-f]{64}$/);
  await rotateKek({ hooks: FEATURES, dataDir: hub.dataDir });
  t.equal(await keyOf(hub), key, "beside a running hub");
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const json = { version: "1.0.0", hosts: [offlineHost("pier-7").named], deployment_credential: project.credential };
  const kit = await hub.call("POST", `/devkeys/projects/${project.id}/kits`, { json });
  t.match(kit.body, { hub_signature: { key, sig: /^[0-9a-f]{128}$/ } });
  await hub.hub.close();
  t.equal(await keyOf(await startHub(t, { dataDir: hub.dataDir })), key);
  t.not(await keyOf(await startHub(t)), key, "and another hub has another one");
});

t.test("hubs that share a database have one key, which keys without its scope cannot read", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const [first, second] = await startTwoHubs(t, { databaseUrl });
  t.equal(await keyOf(first), await keyOf(second));
  const json = { name: "reports", owner: "somebody", scopes: ["report"] };
  const reporter = (await first.call("POST", "/devkeys/api-keys", { json })).body["key"] as string;
  t.equal((await first.call("GET", "/devkeys/kits/key", { key: reporter })).status, 403);
  t.equal((await first.call("GET", "/devkeys/kits/key", { key: "none" })).status, 401);
});
