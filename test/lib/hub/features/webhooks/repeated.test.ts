import t from "tap";
import { createProject, newSigner, type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { publishFiles } from "../../../../support/hub/shown-hub.ts";
import { allowing } from "../../../../support/hub/webhooks.ts";

/** Returns the actions of the audit log since the last call, oldest first. */
function auditOf(hub: RunningHub): () => Promise<string[]> {
  let last = "";
  return async () => {
    const { items } = (await hub.call("GET", "/devkeys/audit?limit=100")).body as {
      items: { id: string; action: string }[];
    };
    const fresh = items.filter(({ id }) => id > last);
    last = items[0]?.id ?? last;
    return fresh.map(({ action }) => action).reverse();
  };
}

t.test("a change that is asked for again is in the audit log once, and webhooks hear of it once", async (t) => {
  const hub = await startHub(t, allowing());
  const { id } = await createProject(hub);
  const plugin = await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const signer = newSigner();
  const project = `/devkeys/projects/${id}`;
  const ofPlugin = `/devkeys/projects/${plugin.body.id as string}`;
  const key = (await hub.call("POST", "/devkeys/api-keys", { json: { name: "host" } })).body.id as string;
  for (const version of ["1.0.0", "1.1.0"])
    await publishFiles(hub, { slug: "tide", version }, { "plugin.yaml": "name: tide\n" });
  const signers = `${project}/signers/${signer.publicKey.toString("hex")}`;
  const market = "/app/marketplace/plugins/tide";
  const hook = (await hub.call("POST", "/devkeys/webhooks", { json: { url: "http://127.0.0.1:9/" } })).body
    .id as string;
  const audit = auditOf(hub);
  await audit();
  const events = async () =>
    (await hub.call("GET", `/devkeys/webhooks/${hook}/deliveries?limit=100`)).body.items.length as number;

  const advice = { message: "Take the next one.", replaced_by: "1.1.0" };
  const steps: [method: string, path: string, json: object | undefined, action: string | undefined, events: number][] =
    [
      ["DELETE", `${ofPlugin}/versions/1.0.0/yank`, undefined, undefined, 0],
      ["DELETE", `${market}/versions/1.0.0/yank`, undefined, undefined, 0],
      ["POST", `${ofPlugin}/versions/1.0.0/yank`, { reason: "late" }, "version.yank", 1],
      ["POST", `${market}/versions/1.0.0/yank`, { reason: "later" }, "version.yank", 1],
      ["DELETE", `${market}/versions/1.0.0/yank`, undefined, "version.unyank", 1],
      ["DELETE", `${ofPlugin}/versions/1.0.0/deprecation`, undefined, undefined, 0],
      ["POST", `${ofPlugin}/versions/1.0.0/deprecation`, advice, "version.deprecate", 1],
      ["POST", `${ofPlugin}/versions/1.0.0/deprecation`, { message: "Another word." }, "version.deprecate", 1],
      ["DELETE", `${ofPlugin}/versions/1.0.0/deprecation`, undefined, "version.undeprecate", 0],
      ["POST", `${market}/grants`, { owner: "else" }, "grant.add", 0],
      ["POST", `${project}/signers`, { public_key: signer.publicKey.toString("hex"), name: "a" }, "signer.add", 0],
      ["POST", `${signers}/retire`, { reason: "old" }, "signer.retire", 0],
      ["POST", `${signers}/revoke`, { reason: "stolen" }, "signer.revoke", 0],
      ["POST", `${signers}/retire`, { reason: "no reason" }, undefined, 0],
      ["DELETE", `/devkeys/api-keys/${key}`, undefined, "key.revoke", 0],
      ["PUT", `${project}/approval`, { required: false }, undefined, 0],
      ["PUT", `${project}/approval`, { required: true }, "project.approval", 1],
    ];
  for (const [method, path, json, action, told] of steps) {
    const name = `${method} ${path.replace(/.*(versions|signers|grants|api-keys)/, "$1")}`;
    for (const expected of [action, undefined]) {
      const before = await events();
      const { status } = await hub.call(method, path, json === undefined ? {} : { json });
      t.ok(status < 300, `${name}: ${status}`);
      // A signer that is added again is renewed.
      if (expected === undefined && action === "signer.add") continue;
      t.strictSame(await audit(), expected === undefined ? [] : [expected], name);
      t.equal((await events()) - before, expected === undefined ? 0 : told, `${name}: messages`);
    }
    await audit();
  }
});
