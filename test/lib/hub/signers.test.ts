import t from "tap";
import {
  createProject,
  isErrorBody,
  newSigner,
  publication,
  type RunningHub,
  startHub,
} from "../../support/hub/harness.ts";

const hex = (key: Buffer): string => key.toString("hex");

async function withRegister(hub: RunningHub) {
  const project = await createProject(hub);
  const signers = `/devkeys/projects/${project.id}/signers`;
  return {
    project,
    list: async () => (await hub.call("GET", signers)).body.items as { public_key: string; state: string }[],
    add: (key: Buffer, name = "") => hub.call("POST", signers, { json: { public_key: hex(key), name } }),
    end: (how: "retire" | "revoke", key: Buffer) =>
      hub.call("POST", `${signers}/${hex(key)}/${how}`, { json: { reason: "a test" } }),
    signers,
  };
}

t.test("a project without a register takes any signer, one with a register only those that are active", async (t) => {
  const hub = await startHub(t);
  const { project, list, add, end } = await withRegister(hub);
  const [first, second, stranger] = [newSigner(), newSigner(), newSigner()];
  t.equal((await project.publish(publication("1.0.0", { signer: stranger }))).status, 201);

  t.match(await add(first.publicKey, "ci"), { status: 201, body: { state: "active", name: "ci", added_by: "admin" } });
  const refused = await project.publish(publication("1.1.0", { signer: stranger }));
  isErrorBody(t, refused, 403, "signer_refused");
  t.equal((await project.publish(publication("1.1.0", { signer: first }))).status, 201);

  await add(second.publicKey);
  t.match(await end("retire", first.publicKey), { status: 200, body: { state: "retired", retired_by: "admin" } });
  isErrorBody(t, await project.publish(publication("1.2.0", { signer: first })), 403, "signer_refused");
  t.equal((await project.publish(publication("1.2.0", { signer: second }))).status, 201);
  t.equal((await add(first.publicKey)).body.state, "active", "a retired one may come back");

  t.match(await end("revoke", first.publicKey), { status: 200, body: { state: "revoked", reason: "a test" } });
  isErrorBody(t, await add(first.publicKey), 409, "conflict");
  isErrorBody(t, await project.publish(publication("1.3.0", { signer: first })), 403, "signer_refused");
  t.strictSame(
    new Map((await list()).map(({ public_key: key, state }) => [key, state])),
    new Map([
      [hex(first.publicKey), "revoked"],
      [hex(second.publicKey), "active"],
    ]),
  );
  const log = (await hub.call("GET", "/devkeys/audit")).body.items as { action: string }[];
  const actions = log.map(({ action }) => action).filter((action) => action.startsWith("signer."));
  t.strictSame(actions, ["signer.revoke", "signer.add", "signer.retire", "signer.add", "signer.add"]);
});

t.test("a key that only publishes cannot make itself a signer, and nobody changes a stranger's register", async (t) => {
  const hub = await startHub(t);
  const { project, signers } = await withRegister(hub);
  const json = { public_key: hex(newSigner().publicKey) };
  isErrorBody(t, await hub.call("POST", signers, { key: project.key, json }), 403, "forbidden");
  t.equal((await hub.call("GET", signers, { key: project.key })).status, 200);
  const issued = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "x", owner: "somebody", scopes: ["projects"] },
  });
  isErrorBody(t, await hub.call("POST", signers, { key: issued.body.key as string, json }), 404, "not_found");
  for (const key of ["", "00", "0".repeat(64)])
    isErrorBody(t, await hub.call("POST", signers, { json: { public_key: key } }), 422, "unprocessable");
  isErrorBody(t, await hub.call("POST", `${signers}/${json.public_key}/retire`), 404, "not_found");
});

t.test(
  "a rotated key has the rights of the old one, which ends after the grace; keys know their last use",
  async (t) => {
    let now = Date.parse("2026-03-01T00:00:00Z");
    const hub = await startHub(t, { clock: () => now });
    const project = await createProject(hub);
    await project.publish(publication("1.0.0"));
    const rotate = (id: string, grace: number, key = hub.adminKey) =>
      hub.call("POST", `/devkeys/api-keys/${id}/rotate`, { key, json: { grace_seconds: grace } });
    const rotated = await rotate(project.keyId, 3600, project.key);
    t.match(rotated, {
      status: 201,
      body: { name: "all", project_id: project.id, scopes: ["publish", "deploy", "report", "read"] },
    });
    t.match(rotated.body.deployment_credential, /^sdc_/);
    t.ok(await project.session(), "the old one works during the grace");
    now += 3_600_001;
    t.equal(await project.session(), undefined);
    isErrorBody(t, await rotate(project.keyId, 0), 409, "conflict");
    isErrorBody(t, await rotate("key_admin", 0), 409, "conflict");
    const json = { xdevkey: rotated.body.key as string, project_id: project.id };
    t.equal((await hub.call("POST", "/app/deploy/v1/auth", { key: null, json })).status, 200);

    await hub.hub.close();
    const again = await startHub(t, { dataDir: hub.dataDir, clock: () => now });
    const keys = (await again.call("GET", "/devkeys/api-keys")).body.items as { id: string; last_used_at: string }[];
    t.equal(keys.find(({ id }) => id === rotated.body.id)?.last_used_at, new Date(now).toISOString());
    t.ok(keys.every(({ last_used_at: at }) => at !== null));
  },
);

t.test("a revoked signer keeps the reason of its revocation, whoever retires it afterwards", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const { publicKey } = publication("1.0.0");
  const key = publicKey.toString("hex");
  const path = `/devkeys/projects/${project.id}/signers`;
  await hub.call("POST", path, { json: { public_key: key } });
  await hub.call("POST", `${path}/${key}/revoke`, { json: { reason: "stolen" } });
  const { status, body } = await hub.call("POST", `${path}/${key}/retire`, { json: { reason: "no longer used" } });
  t.equal(status, 200);
  t.match(body, { state: "revoked", reason: "stolen", retired_at: null, retired_by: null });
});
