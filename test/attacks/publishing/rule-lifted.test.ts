/** Somebody who may not approve their own version lifts the rule that asks for an approval. */
import { createServer } from "node:http";
import t, { type Test } from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { type StagingHub, startStaging } from "../../support/hub/staging.ts";

const REFUSED = { status: 403, body: { code: "forbidden", detail: /administrator/ } };

async function started(t: Test, options: Parameters<typeof startStaging>[1] = {}) {
  const staging: StagingHub = await startStaging(t, { rateLimits: false, ...options });
  const { hub, project, newKey } = staging;
  const owner = await newKey(["projects", "publish", "keys"]);
  const rule = (required: boolean, key?: string) =>
    hub.call("PUT", `/devkeys/projects/${project}/approval`, { json: { required }, ...(key !== undefined && { key }) });
  const record = async () => (await hub.call("GET", `/devkeys/projects/${project}`)).body as object;
  return { ...staging, owner: owner.key, rule, record };
}

t.test("an owner lifts no rule that an administrator has set", async (t) => {
  const { upload, owner, rule, record } = await started(t);
  t.equal((await rule(true, owner)).status, 200);
  t.match(await record(), { requires_approval: true, approval_by: "owner" });
  t.equal((await rule(true)).status, 200, "an administrator makes it theirs");
  t.match(await record(), { requires_approval: true, approval_by: "administrator" });
  t.match(await rule(false, owner), REFUSED);
  t.equal((await rule(true, owner)).status, 200, "nor by setting it again");
  t.match(await rule(false, owner), REFUSED);
  t.match(await upload(owner, "1.0.0"), { status: 403, body: { code: "approval_required" } });
  t.equal((await rule(false)).status, 200);
  t.equal((await upload(owner, "1.0.0")).status, 201);
});

t.test("an owner lifts their own rule, which is noted, and webhooks hear of it", async (t) => {
  const { hub, owner, rule, record, upload } = await started(t, { webhookAllow: ["127.0.0.0/8"] });
  const heard: { type: string; data: { required?: boolean } }[] = [];
  const told = Promise.withResolvers<void>();
  const receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      heard.push(JSON.parse(Buffer.concat(chunks).toString()) as (typeof heard)[number]);
      response.end();
      if (heard.length === 2) told.resolve();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  t.teardown(() => void receiver.close());
  const { port } = receiver.address() as { port: number };
  const json = { url: `http://127.0.0.1:${port}/`, events: ["approval.changed"] };
  t.equal((await hub.call("POST", "/devkeys/webhooks", { json })).status, 201);
  t.equal((await rule(true, owner)).status, 200);
  t.equal((await rule(false, owner)).status, 200);
  t.match(await record(), { requires_approval: false, approval_by: null });
  t.equal((await upload(owner, "1.0.0")).status, 201);
  const { items } = (await hub.call("GET", "/devkeys/audit?action=project.approval")).body;
  t.match(items, [{ facts: { required: false } }, { facts: { required: true } }]);
  await told.promise;
  t.same(heard.map(({ type, data }) => `${type} ${data.required}`).sort(), [
    "approval.changed false",
    "approval.changed true",
  ]);
});

t.test("an owner lifts no rule of the hub, which holds for every target until the hub starts without it", async (t) => {
  const { hub, project, plugin, owner, rule, record, upload, uploadPlugin, newKey } = await started(t);
  const ofPlugin = async () => (await hub.call("GET", `/devkeys/projects/${plugin}`)).body as object;
  t.equal((await rule(true, owner)).status, 200, "the owner's own");
  await hub.hub.close();

  const again = await startHub(t, { dataDir: hub.dataDir, requireApproval: true, rateLimits: false });
  const call: typeof hub.call = (...given) => again.call(...given);
  Object.assign(hub, { call });
  t.match(await ofPlugin(), { requires_approval: true, approval_by: "hub" });
  t.match(await record(), { requires_approval: true, approval_by: "owner" });
  t.match(await rule(false, owner), REFUSED, "their own neither, while the hub requires it");
  const ofOwner = (await newKey(["projects", "publish"])).key;
  const lift = (key?: string) =>
    call("PUT", `/devkeys/projects/${plugin}/approval`, { json: { required: false }, ...(key && { key }) });
  t.match(await lift(ofOwner), REFUSED);
  t.match(await uploadPlugin(ofOwner, "1.0.0"), { status: 403, body: { code: "approval_required" } });
  const added = await call("POST", "/devkeys/projects", { key: ofOwner, json: { name: "New", kind: "project" } });
  t.match(added.body, { requires_approval: true, approval_by: "hub" }, "a new target has it, too");
  t.equal((await lift()).status, 200, "an administrator lifts it for one target");
  t.equal((await uploadPlugin(ofOwner, "1.0.0")).status, 201);
  t.match(await upload(ofOwner, "1.0.0"), { status: 403 });
  await again.hub.close();

  const last = await startHub(t, { dataDir: hub.dataDir, rateLimits: false });
  const shown = async (id: string) => (await last.call("GET", `/devkeys/projects/${id}`)).body as object;
  t.match(await shown(added.body.id as string), { requires_approval: false, approval_by: null });
  t.match(await shown(project), { requires_approval: true, approval_by: "owner" }, "the owner's own rule stays");
});
