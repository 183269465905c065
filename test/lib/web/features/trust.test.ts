import t from "tap";
import { heldKey, rootChain } from "../../../support/forged/roots.ts";
import { HOSTILE } from "../../../support/hub/filling.ts";
import { createProject, startHub } from "../../../support/hub/harness.ts";
import { trustAt } from "../../../support/hub/trust.ts";
import { Visitor } from "../../../support/hub/web.ts";

t.test("the page of a target shows the root that it follows, to whoever manages the target", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const page = `/projects/${project.id}/trust`;
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  t.match((await admin.request(page)).html, /It follows no trust root.*sealift trust start/s);

  const chain = rootChain();
  const signer = heldKey();
  const name = HOSTILE.replaceAll("\u2028", "").slice(0, 64);
  const names = { [signer.id]: name, [chain.holders[0]!.id]: "ada" };
  await trustAt(hub).publish(chain.version(1, [signer], { names }), [project.id]);
  const { html } = await admin.request(page);
  for (const part of [chain.id, "2 of 3 keys", ">ada<", signer.hex, chain.holders[1]!.hex, "no name", "by 1 target"])
    t.ok(html.includes(part), part);
  t.notMatch(html, name);
  t.notMatch(html, "owns these hosts");

  await trustAt(hub).publish(chain.version(2, [signer], { threshold: 1 }));
  t.match((await admin.request(page)).html, /1 of 3 keys.*owns these hosts/s);

  const { body } = await hub.call("POST", "/devkeys/api-keys", { json: { name: "else", owner: "else" } });
  const stranger = await new Visitor(hub.url).signIn(body.key as string);
  t.equal((await stranger.request(page)).status, 404);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  t.equal((await admin.request("/plugins/tide/trust")).status, 200);
  const tabOf = async (visitor: Visitor, path: string) => />Trust</.test((await visitor.request(path)).html);
  t.ok(await tabOf(admin, "/plugins/tide"));
  t.notOk(await tabOf(stranger, "/plugins/tide"));
  const made = await hub.call("POST", "/devkeys/api-keys", { json: { name: "host", scopes: ["deploy"] } });
  const deploying = await new Visitor(hub.url).signIn(made.body.key as string);
  t.equal((await deploying.request("/plugins/tide")).status, 200);
  t.notOk(await tabOf(deploying, "/plugins/tide"), "nor to one who may only deploy versions");
  t.equal((await stranger.request("/plugins/tide/trust")).status, 404, "also of a plugin that everybody sees");
});
