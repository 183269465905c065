import t from "tap";
import { newSigner, publication, publishForm } from "../../support/hub/harness.ts";
import { sendSlowly } from "../../support/hub/slow-upload.ts";
import { startStaging } from "../../support/hub/staging.ts";
import {
  billOf,
  endorsed,
  state,
  type StatedVersion,
  statementForm,
  statementsPath,
} from "../../support/hub/statements.ts";

const COMPONENT = { name: "left-pad", version: "1.3.0", purl: "pkg:npm/left-pad@1.3.0" };

t.test("statements of a staged version are for its stager and approvers alone, until it is approved", async (t) => {
  const { hub, project, stager, approver, host, newKey, approve, session } = await startStaging(t);
  const signer = newSigner();
  const what = publication("1.1.0", { signer });
  const form = publishForm(what, { changes: { stage: "true" } });
  const { body } = await hub.call("POST", `/app/deploy/v1/projects/${project}/publish`, { key: stager.key, form });
  const stated: StatedVersion = {
    ...{ hub, version: "1.1.0", signer, target: { kind: "project" as const, slug: project } },
    ...{ artifact_sha256: body.artifact_sha256, content_sha256: what.contentSha256 },
  };
  const other = await newKey(["stage"]);
  const bill = billOf([COMPONENT]);
  t.equal((await state(stated, "sbom", bill, undefined, other.key)).status, 404, "another stager's");
  t.equal((await state(stated, "sbom", bill, undefined, stager.key)).status, 201);

  const path = statementsPath(stated);
  const bearer = await session(host.key);
  const isFound = async (options: { key?: string; bearer?: string }) => {
    const statuses = await Promise.all(
      ["", "/sbom"].map(async (kind) => (await hub.call("GET", path + kind, options)).status),
    );
    return statuses.join(" ");
  };
  t.equal(await isFound({ key: host.key }), "404 404", "a host's key");
  t.equal(await isFound({ bearer }), "404 404", "its session");
  t.equal(await isFound({ key: approver.key }), "200 200", "who may approve it");
  const find = () => hub.call("GET", "/app/deployments/deployments/components?q=left-pad", { key: approver.key });
  t.match((await find()).body, { versions: [], uncompared: [] }, "no search finds it");

  const urgent = Buffer.from('{"reason": "now"}');
  const approved: number[] = [];
  const onItsWay = await sendSlowly(
    hub,
    { path, key: stager.key, body: statementForm("urgent", urgent, endorsed(stated, "urgent", urgent)) },
    async () => approved.push((await approve(approver.key, "1.1.0")).status),
  );
  t.same(approved, [200]);
  t.equal(onItsWay, 403, "what has not arrived by then comes too late");
  t.equal(await isFound({ bearer }), "200 200");
  t.match((await find()).body, { versions: [{ version: "1.1.0" }] });
  const late = await state(stated, "urgent", urgent, undefined, stager.key);
  t.match(late, { status: 403, body: { code: "forbidden" } }, "its stager adds nothing after the approval");
});
