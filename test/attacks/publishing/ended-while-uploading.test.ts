// Holds: whether a request may still do what it might (lib/hub/access/still-allowed.ts)
/** An upload has begun when its key is ended, as a stolen one is, or its target goes to another owner. */
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { newSigner, publication, publishForm, storedFiles } from "../../support/hub/harness.ts";
import { sendSlowly } from "../../support/hub/slow-upload.ts";
import { startStaging } from "../../support/hub/staging.ts";

t.test("an upload whose key is ended meanwhile, or whose target changes hands, publishes nothing", async (t) => {
  const { hub, project, newKey } = await startStaging(t);
  // Somebody is to be there who can use what is given to them.
  await newKey(["read"], { owner: "next" });
  const signer = newSigner();
  const path = `/app/deploy/v1/projects/${project}/publish`;
  const publish = (key: string, version: string, meanwhile: () => Promise<unknown>) =>
    sendSlowly(hub, { path, key, body: publishForm(publication(version, { signer })) }, meanwhile);
  const versions = async () => (await hub.call("GET", `/devkeys/projects/${project}/versions`)).body.items as unknown[];

  const before = (await storedFiles(hub)).length;
  const revoked = await newKey(["publish"]);
  const revoke = () => hub.call("DELETE", `/devkeys/api-keys/${revoked.id}`);
  t.equal(await publish(revoked.key, "1.0.0", revoke), 401, "revoked");
  const rotated = await newKey(["publish"]);
  const rotate = () => hub.call("POST", `/devkeys/api-keys/${rotated.id}/rotate`, { json: { grace_seconds: 0 } });
  t.equal(await publish(rotated.key, "1.0.0", rotate), 401, "replaced");
  const former = await newKey(["publish"], { owner: "former" });
  const transfer = (owner: string) => hub.call("POST", `/devkeys/projects/${project}/transfer`, { json: { owner } });
  await transfer("former");
  t.equal(await publish(former.key, "1.0.0", () => transfer("next")), 403, "transferred");
  t.same(await versions(), []);
  t.equal((await storedFiles(hub)).length, before, "nothing of it stays");
  const ending = await newKey(["publish"], { owner: "next", expires_at: new Date(Date.now() + 1500).toISOString() });
  t.equal(await publish(ending.key, "1.0.0", () => sleep(1600)), 201, "its time was up, and nobody has ended it");
});
