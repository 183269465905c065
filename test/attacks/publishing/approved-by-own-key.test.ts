import t from "tap";
import { startStaging } from "../../support/hub/staging.ts";

const OWN = { status: 403, body: { code: "own_approval" } };

t.test("a key does not approve what it has staged, nor does the key that takes its place", async (t) => {
  const { hub, approver, upload, approve, newKey } = await startStaging(t);
  const rotated = async (id: string) =>
    (await hub.call("POST", `/devkeys/api-keys/${id}/rotate`, { json: {} })).body as { id: string; key: string };
  const publisher = await newKey(["publish"]);
  await upload(publisher.key, "1.0.0", "true");
  t.match(await approve(publisher.key, "1.0.0"), { ...OWN, body: { detail: /staged by the same key/ } });
  const next = await rotated(publisher.id);
  t.match(await approve(next.key, "1.0.0"), OWN);
  t.match(await approve((await rotated(next.id)).key, "1.0.0"), OWN, "nor the one after that");
  await upload(next.key, "1.1.0", "true");
  t.match(await approve(publisher.key, "1.1.0"), OWN, "nor the old one, which works for a day");
  for (const version of ["1.0.0", "1.1.0"]) t.equal((await approve(approver.key, version)).status, 200);
});

t.test("the administrator's first key does not approve what it has staged either", async (t) => {
  const { hub, approver, upload, approve } = await startStaging(t);
  await upload(hub.adminKey, "1.0.0", "true");
  t.match(await approve(hub.adminKey, "1.0.0"), OWN);
  t.equal((await approve(approver.key, "1.0.0")).status, 200);
});
