import t from "tap";
import { newAuthor } from "../../support/host/author.ts";
import { startStaging } from "../../support/hub/staging.ts";

t.test("an archive that was staged without a signature is not approved once a signer is registered", async (t) => {
  const { hub, plugin, stager, approver, uploadPlugin, staged } = await startStaging(t);
  await uploadPlugin(stager.key, "1.0.0", { stage: "true" });
  await uploadPlugin(stager.key, "1.1.0", { stage: "true", repo: "acme/tide@v1.1.0" });
  const approve = async (version: string) => {
    const { sha256 } = (await staged(approver.key)).find((one) => one["version"] === version) as { sha256: string };
    const json = { versions: [{ project_id: plugin, version, sha256 }] };
    return hub.call("POST", "/devkeys/staging/approve", { key: approver.key, json });
  };
  const json = { public_key: newAuthor().publicKey.toString("hex") };
  t.equal((await hub.call("POST", `/devkeys/projects/${plugin}/signers`, { json })).status, 201);
  for (const version of ["1.0.0", "1.1.0"])
    t.match(await approve(version), {
      status: 403,
      body: { code: "signer_refused", detail: /not signed by its author/ },
    });
});

t.test("… and is approved where no signer is registered", async (t) => {
  const { hub, plugin, stager, approver, uploadPlugin, staged } = await startStaging(t);
  await uploadPlugin(stager.key, "1.0.0", { stage: "true" });
  const [{ sha256 }] = (await staged(approver.key)) as [{ sha256: string }];
  const json = { versions: [{ project_id: plugin, version: "1.0.0", sha256 }] };
  t.equal((await hub.call("POST", "/devkeys/staging/approve", { key: approver.key, json })).status, 200);
});
