/** Somebody who may issue keys replaces another one's key, and would approve by it. */
import t from "tap";
import { startStaging } from "../../support/hub/staging.ts";

t.test("who stages a version approves it by no key that they take from somebody else", async (t) => {
  const { hub, approver, host, upload, approve, newKey } = await startStaging(t);
  const rotate = (id: string, key: string) =>
    hub.call("POST", `/devkeys/api-keys/${id}/rotate`, { key, json: { grace_seconds: 0 } });
  const mallory = await newKey(["keys", "publish", "projects", "deploy", "report", "read"]);
  await upload(mallory.key, "1.0.0", "true");
  t.match(await rotate(approver.id, mallory.key), { status: 403, body: { detail: /somebody else's/ } });
  t.equal((await approve(approver.key, "1.0.0")).status, 200, "the key goes on working");
  t.equal((await rotate(host.id, mallory.key)).status, 201, "a host's key approves nothing");
  const issued = await hub.call("POST", "/devkeys/api-keys", {
    ...{ key: mallory.key, json: { name: "child", scopes: ["publish"] } },
  });
  t.equal((await rotate(issued.body.id as string, mallory.key)).status, 201, "nor does one of their own");
});
