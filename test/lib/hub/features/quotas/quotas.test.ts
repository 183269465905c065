// Holds: what a quota counts (lib/hub/records/usage.ts)
import t from "tap";
import { FEATURES } from "../../../../../lib/hub/features.ts";
import { setQuota } from "../../../../../lib/hub/features/quotas/by-hand.ts";
import { createProject, isErrorBody, publication, startHub } from "../../../../support/hub/harness.ts";
import { Visitor } from "../../../../support/hub/web.ts";

t.test("the API and the page tell what is stored and what may be, to those whom it concerns", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  await project.publish(publication("1.0.0", { size: 180_000 }));
  const { dataDir } = hub;
  await setQuota({ hooks: FEATURES, dataDir }, { subject: "owner/bob", max_bytes: 5_000_000, max_versions: null });
  await setQuota({ hooks: FEATURES, dataDir }, { subject: `project/${project.id}`, max_bytes: null, max_versions: 7 });
  const quotas = async (key: string, query = "") =>
    (await hub.call("GET", `/devkeys/quotas${query}`, { key })).body as unknown as {
      items: { subject: string; max_bytes: number | null; max_versions: number | null; usage: object }[];
      next: string | null;
    };
  const keyWith = async (json: object) =>
    (await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", scopes: ["read"], ...json } })).body
      .key as string;

  const all = await quotas(hub.adminKey);
  t.strictSame(
    all.items.map(({ subject }) => subject),
    ["owner/admin", "owner/bob", `project/${project.id}`],
  );
  const usage = { versions: 1 };
  t.match(all.items[0], { max_bytes: null, max_versions: null, usage });
  t.match(all.items[2], { max_bytes: null, max_versions: 7, usage });
  const first = await quotas(hub.adminKey, "?limit=1");
  t.equal(first.next, "owner/admin");
  t.strictSame((await quotas(hub.adminKey, "?limit=5&cursor=owner/admin")).items, all.items.slice(1));

  const bob = await keyWith({ owner: "bob" });
  t.strictSame((await quotas(bob)).items, [
    { subject: "owner/bob", max_bytes: 5_000_000, max_versions: null, usage: { bytes: 0, versions: 0 } },
  ]);
  const bound = await keyWith({ project_id: project.id });
  t.strictSame((await quotas(bound)).items, all.items.slice(2));
  isErrorBody(t, await hub.call("GET", "/devkeys/quotas", { key: null }), 401, "key_missing");

  const { html } = await (await new Visitor(hub.url).signIn(bob)).request("/quotas");
  t.match(html, "owner bob");
  t.notMatch(html, "owner admin");
  t.match(
    (await (await new Visitor(hub.url).signIn(hub.adminKey)).request("/quotas")).html,
    /owner admin[^]*owner bob/,
  );
});
