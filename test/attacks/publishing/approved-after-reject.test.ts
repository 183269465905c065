import t from "tap";
import { startStaging } from "../../support/hub/staging.ts";

t.test("a version that was rejected cannot be approved, and one that is published cannot be rejected", async (t) => {
  const { hub, project, stager, approver, upload, staged, approve } = await startStaging(t);
  await upload(stager.key, "1.0.0", "true");
  const [{ sha256 }] = (await staged(approver.key)) as [{ sha256: string }];
  const reject = (version: string) =>
    hub.call("POST", `/devkeys/staging/${project}/${version}/reject`, { key: approver.key, json: { reason: "no" } });
  t.equal((await reject("1.0.0")).status, 204);
  t.match(await approve(approver.key, "1.0.0", sha256), { status: 404, body: { code: "not_found" } });
  t.equal((await reject("1.0.0")).status, 404, "nor rejected again");
  await upload(stager.key, "1.1.0", "true");
  await approve(approver.key, "1.1.0");
  t.match(await reject("1.1.0"), { status: 409, body: { code: "conflict", detail: /published already/ } });
  const { items } = (await hub.call("GET", `/devkeys/projects/${project}/versions`)).body;
  t.match(items, [{ version: "1.1.0", is_latest: true }]);
});
