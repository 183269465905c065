// Holds: what a transfer carries with it (lib/hub/features/trust/feature.ts)
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import t from "tap";
import { heldKey, publicKey, rootChain } from "../../../../support/forged/roots.ts";
import {
  createProject,
  isErrorBody,
  newSigner,
  publication,
  type RunningHub,
  startHub,
} from "../../../../support/hub/harness.ts";
import { follow } from "../../../../support/hub/hints.ts";
import { startReceiver } from "../../../../support/hub/receiver.ts";
import { trustAt } from "../../../../support/hub/trust.ts";
import { allowing } from "../../../../support/hub/webhooks.ts";

const MANAGING = ["projects", "publish", "deploy", "report", "read"];

async function keyOf(hub: RunningHub, facts: object): Promise<string> {
  const made = await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", scopes: MANAGING, ...facts } });
  return made.body.key as string;
}

async function projectOf(hub: RunningHub, key: string, facts: object = {}): Promise<string> {
  const json = { name: "Theirs", kind: "project", same_name: true, ...facts };
  return (await hub.call("POST", "/devkeys/projects", { key, json })).body.id as string;
}

/** States of a project's signers, by their keys. */
const statesOf = async (hub: RunningHub, target: string) =>
  Object.fromEntries((await trustAt(hub).signers(target)).map(({ public_key: key, state }) => [key, state]));

t.test("a plugin's record says the root's version, with a new ETag, and no other owner's key changes it", async (t) => {
  const hub = await startHub(t);
  const alice = await keyOf(hub, { owner: "alice" });
  const bob = await keyOf(hub, { owner: "bob" });
  const { publish, leave, show, list } = trustAt(hub);
  const plugin = await projectOf(hub, alice, { kind: "plugin", slug: "tide" });
  const at = "/app/marketplace/plugins/tide";
  const before = await hub.call("GET", at, { key: bob });
  t.notOk("root_version" in before.body);
  const chain = rootChain();
  const one = chain.version(1, [heldKey()]);
  isErrorBody(t, await publish(one, [plugin], bob), 404, "not_found");
  isErrorBody(t, await show(chain.id, bob), 404, "not_found");
  t.match(await publish(one, [plugin], alice), { status: 201, body: { owner: "alice", targets: [plugin] } });
  const after = await hub.call("GET", at, { key: bob });
  t.strictSame(after.body, { ...before.body, root_version: 1 });
  t.not(after.headers.get("etag"), before.headers.get("etag"));
  t.equal((await hub.call("GET", `${at}/roots/1`, { key: bob })).bytes.toString(), one, "hosts of others read it");
  isErrorBody(t, await hub.call("GET", `${at}/roots/1`, { key: null }), 401, "key_missing");

  // Another owner's copy is a root of its own.
  t.match(await publish(one, undefined, bob), { status: 201, body: { owner: "bob", targets: [] } });
  t.strictSame((await list(bob)).body.items.length, 1);
  t.strictSame((await list()).body.items.length, 2, "an administrator sees both");
  isErrorBody(t, await leave(plugin, bob), 404, "not_found");
  t.equal((await leave(plugin, alice)).status, 204);
  t.strictSame((await hub.call("GET", at, { key: bob })).bytes.toString(), before.bytes.toString(), "byte for byte");
  isErrorBody(t, await leave(plugin, alice), 404, "not_found");
  isErrorBody(t, await hub.call("GET", `${at}/roots/1`, { key: bob }), 404, "not_found");
});

t.test("an administrator's root belongs to the owner of its targets", async (t) => {
  const hub = await startHub(t);
  const { publish, list } = trustAt(hub);
  const [alice, bob] = [await keyOf(hub, { owner: "alice" }), await keyOf(hub, { owner: "bob" })];
  const [hers, his] = [await projectOf(hub, alice), await projectOf(hub, bob)];
  const chain = rootChain();
  const version = (number: number) => chain.version(number, [heldKey()]);
  const [one, two] = [version(1), version(2)];
  isErrorBody(t, await publish(one, [hers, his]), 422, "unprocessable");
  t.match(await publish(one, [hers]), { status: 201, body: { owner: "alice" } });
  t.match(await publish(two), { status: 201, body: { owner: "alice", version: 2, targets: [hers] } });
  t.match(await publish(one, [his]), { status: 201, body: { owner: "bob", version: 1 } });
  isErrorBody(t, await publish(version(3)), 409, "conflict");
  const [another, second] = [await projectOf(hub, alice), rootChain()];
  t.equal((await publish(second.version(1, [heldKey()]), [another])).status, 201);
  const listed = (await list()).body.items as { id: string; owner: string; targets: string[] }[];
  const byPlace = (a: string[], b: string[]): number => (a.join() < b.join() ? -1 : 1);
  t.strictSame(
    listed.map(({ id, owner, targets }) => [id, owner, ...targets]).toSorted(byPlace),
    [
      [chain.id, "alice", hers],
      [chain.id, "bob", his],
      [second.id, "alice", another],
    ].toSorted(byPlace),
    "each with its own followers",
  );
});

t.test("a key that is bound to a target changes the root of that one alone", async (t) => {
  const hub = await startHub(t);
  const { publish, list, show, leave } = trustAt(hub);
  const alice = await keyOf(hub, { owner: "alice" });
  const [mine, other] = [await projectOf(hub, alice), await projectOf(hub, alice)];
  const bound = await keyOf(hub, { owner: "alice", project_id: mine });
  const chain = rootChain();
  const version = (number: number) => chain.version(number, [heldKey()]);
  const one = version(1);
  isErrorBody(t, await publish(one, undefined, bound), 403, "forbidden");
  isErrorBody(t, await publish(one, [mine, other], bound), 404, "not_found");
  t.equal((await publish(one, [mine], bound)).status, 201);
  t.equal((await publish(version(2), undefined, bound)).status, 201, "it follows the root already");
  t.match(await publish(one, [other], alice), { status: 200, body: { version: 2, targets: [mine, other].sort() } });
  const refused = await publish(version(3), undefined, bound);
  isErrorBody(t, refused, 403, "forbidden");
  t.match(refused.body.error, "others follow the root");
  t.equal((await leave(mine, bound)).status, 204);
  t.match(await publish(one, [mine], bound), { status: 200, body: { targets: [mine] } }, "it may follow again");
  t.match((await show(chain.id, alice)).body, { version: 2, targets: [mine, other].sort() });
  t.match((await show(chain.id, bound)).body, { version: 2, targets: [mine] }, "and hears of no other target");
  const unseen = rootChain();
  t.equal((await publish(unseen.version(1, [heldKey()]), undefined, alice)).status, 201);
  t.match((await list(bound)).body.items, [{ id: chain.id }]);
  isErrorBody(t, await show(unseen.id, bound), 404, "not_found");
  isErrorBody(t, await leave(other, bound), 404, "not_found");
  t.equal((await leave(mine, bound)).status, 204);
  const reading = await keyOf(hub, { owner: "alice", scopes: ["read"] });
  t.equal((await show(chain.id, reading)).status, 200);
  isErrorBody(t, await publish(version(3), undefined, reading), 403, "forbidden");
});

t.test("the register of signers follows the root", async (t) => {
  const hub = await startHub(t);
  const { publish, leave, signers } = trustAt(hub);
  const project = await createProject(hub);
  const at = `/devkeys/projects/${project.id}/signers`;
  const add = (key: string) => hub.call("POST", at, { json: { public_key: key } });
  const end = (how: string, key: string) => hub.call("POST", `${at}/${key}/${how}`, { json: { reason: "by hand" } });
  const [old, retired, stolen, ci] = [heldKey(), heldKey(), heldKey(), heldKey()];
  for (const { hex } of [old, retired, stolen]) t.equal((await add(hex)).status, 201);
  await end("retire", retired.hex);
  await end("revoke", stolen.hex);
  const before = await signers(project.id);

  const chain = rootChain();
  const one = chain.version(1, [retired, stolen, ci], { names: { [ci.id]: "ci" } });
  await publish(one, [project.id]);
  t.strictSame(await statesOf(hub, project.id), {
    ...{ [old.hex]: "retired", [retired.hex]: "active", [stolen.hex]: "revoked", [ci.hex]: "active" },
  });
  const now = await signers(project.id);
  t.match(
    now.find(({ public_key: key }) => key === old.hex),
    { reason: `follows the trust root ${chain.id} version 1`, retired_by: "admin" },
  );
  t.equal(now.find(({ public_key: key }) => key === ci.hex)?.name, "ci");
  t.strictSame(
    now.find(({ public_key: key }) => key === stolen.hex),
    before.find(({ public_key: key }) => key === stolen.hex),
  );
  t.match(await add(heldKey().hex), { status: 409, body: { code: "conflict", error: new RegExp(chain.id) } });

  t.equal((await end("retire", ci.hex)).status, 200, "what is ended by hand stays so");
  t.equal((await publish(one)).status, 200);
  t.equal((await statesOf(hub, project.id))[ci.hex], "retired");
  const { body } = await hub.call("GET", "/devkeys/audit?action=trust.change");
  t.equal((body.items as unknown[]).length, 1, "a version that it follows already changes nothing");
  await publish(chain.version(2, [old]));
  t.match(await statesOf(hub, project.id), { [old.hex]: "active", [retired.hex]: "retired", [ci.hex]: "retired" });
  await leave(project.id);
  t.equal((await add(heldKey().hex)).status, 201);
});

t.test("a version signed by a key that the root does not name is not published", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const [before, after] = [newSigner(), newSigner()];
  const chain = rootChain();
  await trustAt(hub).publish(chain.version(1, [publicKey(before.publicKey)]), [project.id]);
  t.equal((await project.publish(publication("1.0.0", { signer: before }))).status, 201);
  await trustAt(hub).publish(chain.version(2, [publicKey(after.publicKey)]));
  isErrorBody(t, await project.publish(publication("1.1.0", { signer: before })), 403, "signer_refused");
  t.equal((await project.publish(publication("1.1.0", { signer: after }))).status, 201);
});

t.test("a target follows one root; a transfer and a deletion end it, and the root stays", async (t) => {
  const hub = await startHub(t);
  const { publish, show, read } = trustAt(hub);
  const alice = await keyOf(hub, { owner: "alice" });
  await keyOf(hub, { owner: "bob" });
  const [given, deleted] = [await projectOf(hub, alice), await projectOf(hub, alice, { kind: "plugin", slug: "tide" })];
  const [chain, other] = [rootChain(), rootChain()];
  const one = chain.version(1, [heldKey()]);
  t.equal((await publish(one, [given, deleted], alice)).status, 201);
  const refused = await publish(other.version(1, [heldKey()]), [given], alice);
  isErrorBody(t, refused, 409, "conflict");
  t.match(refused.body.error, chain.id);
  isErrorBody(t, await show(other.id, alice), 404, "not_found");

  await hub.call("POST", `/devkeys/projects/${given}/transfer`, { json: { owner: "bob" } });
  t.strictSame((await show(chain.id, alice)).body.targets, [deleted]);
  await hub.call("POST", `/devkeys/projects/${deleted}/transfer`, { json: { owner: "bob" } });
  t.notOk(
    "root_version" in (await hub.call("GET", "/app/marketplace/plugins/tide")).body,
    "its record says so at once",
  );
  await hub.call("DELETE", `/devkeys/projects/${deleted}`);
  t.match((await show(chain.id, alice)).body, { version: 1, targets: [] });
  t.equal((await read(chain.id, 1, alice)).bytes.toString(), one);
  const { body } = await hub.call("GET", "/devkeys/audit?action=trust.leave");
  t.match(body.items, [
    { actor: "hub", subject: "plugin/tide", facts: { root_id: chain.id, root_version: 1 } },
    { actor: "hub", subject: given },
  ]);
});

t.test("hosts are hinted, the audit log tells, and webhooks hear", async (t) => {
  const hub = await startHub(t, allowing());
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const receiver = await startReceiver(t);
  await hub.call("POST", "/devkeys/webhooks", { json: { url: receiver.url, events: ["trust.changed"] } });
  const stream = await follow(t, hub, project.key, [`project:${project.id}`]);
  await stream.next(0);
  const chain = rootChain();
  const [first, second] = [heldKey(), heldKey()];
  await trustAt(hub).publish(chain.version(1, [first]), [project.id]);
  await receiver.until(1);
  t.strictSame((await stream.next(1)).targets, [`project:${project.id}`]);
  const { body: two } = await trustAt(hub).publish(chain.version(2, [first, second]));
  await receiver.until(2);
  t.strictSame((await stream.next(2)).targets, [`project:${project.id}`]);
  const signers = [first.hex, second.hex].sort().join(" ");
  t.match(receiver.received[1]!.body, {
    type: "trust.changed",
    data: {
      ...{ target: `project:${project.id}`, name: "Demo", version: null, actor: "admin" },
      ...{ root_id: chain.id, root_version: 2, signers },
    },
  });
  const entries = (await hub.call("GET", "/devkeys/audit")).body.items as { action: string }[];
  // Both may have one time, and then their order means nothing.
  const last = entries.filter(({ action }) => /^(root|trust)\./.test(action)).slice(0, 2);
  t.match(
    last.toSorted((a, b) => (a.action < b.action ? -1 : 1)),
    [
      {
        action: "root.publish",
        subject: chain.id,
        facts: { root_id: chain.id, root_version: 2, digest: two.digest as string, targets: 1 },
      },
      { action: "trust.change", subject: project.id, facts: { root_id: chain.id, root_version: 2, signers } },
    ],
  );
  const poll = (etag: string) =>
    hub.call("POST", "/app/deployments/v1/poll", {
      key: project.key,
      json: { targets: [{ target: `project:${project.id}`, etag }] },
    });
  t.match((await poll('"1.0.0~root=1"')).body, { targets: [{ changed: true }] });
  t.match((await poll('"1.0.0~root=2"')).body, { targets: [{ changed: false }] });
});

t.test("a version that the hub has lost comes back where the one after it verifies it", async (t) => {
  const hub = await startHub(t);
  const { publish, read, show } = trustAt(hub);
  const chain = rootChain();
  const versions = [1, 2, 3].map((version) => chain.version(version, [heldKey()]));
  for (const text of versions) t.equal((await publish(text)).status, 201);
  const before = (await show(chain.id)).body;
  using database = new DatabaseSync(join(hub.dataDir, "hub.sqlite"), { timeout: 10_000 });
  database.exec("delete from trust_roots where version = 2");
  isErrorBody(t, await read(chain.id, 2), 404, "not_found");
  const thief = heldKey();
  const other = chain.version(2, [heldKey()], { holders: [thief], threshold: 1, by: [...chain.holders, thief] });
  isErrorBody(t, await publish(other), 422, "trust_root_undersigned");
  t.match(await publish(versions[1]!), { status: 201, body: before });
  t.equal((await read(chain.id, 2)).bytes.toString(), versions[1]);
});
