import t from "tap";
import { startStaging } from "../../support/hub/staging.ts";

t.test("a version is approved once, however many ask at the same time", async (t) => {
  const { hub, project, stager, newKey, upload, staged } = await startStaging(t);
  await upload(stager.key, "1.0.0", "true");
  const [{ sha256 }] = (await staged(hub.adminKey)) as [{ sha256: string }];
  const json = { versions: [{ project_id: project, version: "1.0.0", sha256 }] };
  const keys = await Promise.all(Array.from({ length: 5 }, async () => (await newKey(["publish"])).key));
  const answers = await Promise.all(keys.map((key) => hub.call("POST", "/devkeys/staging/approve", { key, json })));
  t.same(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409]);
  t.match(await hub.call("POST", "/devkeys/staging/approve", { json }), {
    status: 409,
    body: { code: "conflict", detail: /published already/ },
  });
  for (const action of ["version.approve", "version.publish"]) {
    const { items } = (await hub.call("GET", `/devkeys/audit?action=${action}`)).body;
    t.equal(items.length, 1, action);
  }
});
