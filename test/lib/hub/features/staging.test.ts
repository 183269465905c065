import t, { type Test } from "tap";
import { publication, publishForm } from "../../../support/hub/harness.ts";
import { startPostgres } from "../../../support/hub/postgres-server.ts";
import { startStaging } from "../../../support/hub/staging.ts";

const DEPLOY = "/app/deploy/v1";

async function goesItsWay(t: Test, databaseUrl?: string): Promise<void> {
  const { hub, project, stager, approver, host, upload, staged, approve, session } = await startStaging(t, {
    ...(databaseUrl !== undefined && { databaseUrl }),
  });
  t.equal((await upload(approver.key, "1.0.0")).status, 201);
  const bearer = await session(host.key);
  const latest = async () =>
    (await hub.call("GET", `${DEPLOY}/projects/${project}/versions/latest`, { bearer })).body as object;
  const located = (by: string, version = "1.1.0") =>
    hub.call("GET", `${DEPLOY}/projects/${project}/artifacts/${version}`, { bearer: by });

  const answer = await upload(stager.key, "1.1.0", "true");
  t.match(answer, { status: 201, body: { version: "1.1.0", state: { name: "staged", cause: "uploaded" } } });
  t.same(await latest(), { version: "1.0.0" });
  t.equal((await located(bearer)).status, 404, "not by its name either");
  t.same((await located(bearer)).body, (await located(bearer, "9.9.9")).body, "as a version that is not there");
  t.equal((await located(await session(approver.key))).status, 200, "an approver looks at it");
  const listed = async (key: string) =>
    (await hub.call("GET", `/devkeys/projects/${project}/versions`, { key })).body.items as { version: string }[];
  t.same(
    (await listed(host.key)).map(({ version }) => version),
    ["1.0.0"],
  );
  t.same(
    (await listed(approver.key)).map(({ version }) => version),
    ["1.1.0", "1.0.0"],
  );

  t.match(await staged(stager.key), [{ version: "1.1.0", target: `project:${project}`, may_approve: false }]);
  t.match(await staged(approver.key), [
    { version: "1.1.0", name: "Harbour", may_approve: true, published_by: "stage" },
  ]);
  const release = `/devkeys/projects/${project}/versions/1.1.0/release`;
  t.match(await hub.call("POST", release, { key: approver.key }), { status: 409, body: { detail: /stage approve/ } });

  t.match(await approve(stager.key, "1.1.0"), { status: 403, body: { code: "forbidden" } });
  t.match(await approve(approver.key, "1.1.0"), {
    status: 200,
    body: { versions: [{ version: "1.1.0", project_id: project, state: undefined }] },
  });
  t.same(await latest(), { version: "1.1.0" });
  t.match((await located(bearer)).body, { published_by: "stage", approved_by: /^publish/, approved_at: /^20/ });
  t.match((await listed(host.key))[0], { version: "1.1.0", published_by: "stage", approved_by: /^publish/ });
  t.same(await staged(approver.key), []);
  const { items } = (await hub.call("GET", "/devkeys/audit")).body;
  const deeds = (items as { action: string }[])
    .map(({ action }) => action)
    .filter((name) => name.startsWith("version."));
  const wanted = ["version.stage", "version.hold", "version.approve", "version.publish"];
  t.same(deeds.sort(), [...wanted, "version.publish"].sort());
}

t.test("a staged version is published when another key approves it, on SQLite", (t) => goesItsWay(t));

t.test("a staged version is published when another key approves it, on PostgreSQL", async (t) => {
  const url = await startPostgres(t);
  if (url !== undefined) await goesItsWay(t, url);
});

t.test("a plugin's staged version is seen by its stager and approvers alone", async (t) => {
  const { hub, plugin, stager, approver, host, newKey, uploadPlugin, staged } = await startStaging(t);
  await uploadPlugin(approver.key, "1.0.0");
  const detail = async () => (await hub.call("GET", "/app/marketplace/plugins/tide", { key: null })).bytes.toString();
  const before = await detail();
  t.match(await uploadPlugin(stager.key, "1.1.0", { stage: "true" }), {
    status: 201,
    body: { state: { name: "staged" } },
  });
  t.equal(await detail(), before, "the detail record is as it was");
  const install = (key: string) => hub.call("GET", "/app/marketplace/plugins/tide/install?version=1.1.0", { key });
  const other = await newKey(["publish", "deploy"], { owner: "other" });
  for (const { key } of [host, other]) t.match(await install(key), { status: 404, body: { code: "not_found" } });
  t.equal((await install(approver.key)).status, 200);
  const pages = await hub.call("GET", "/app/marketplace/plugins/tide/versions", { key: host.key });
  t.match(pages.body.items, [{ version: "1.0.0" }]);
  t.equal(pages.body.items.length, 1);
  t.same(await staged(other.key), []);

  const [{ sha256 }] = (await staged(approver.key)) as [{ sha256: string }];
  const json = { versions: [{ project_id: plugin, version: "1.1.0", sha256 }] };
  t.equal((await hub.call("POST", "/devkeys/staging/approve", { key: other.key, json })).status, 404);
  t.equal((await hub.call("POST", "/devkeys/staging/approve", { key: approver.key, json })).status, 200);
  t.equal((await install(host.key)).status, 200);
  const now = JSON.parse(await detail()) as { latest_version: string; versions: object[] };
  t.match(now, { latest_version: "1.1.0", versions: [{ version: "1.1.0", approved_at: /^20/ }] });
  t.notOk(JSON.stringify(now).includes("approved_by"), "strangers hear of no key");
});

t.test("one approval covers several versions, or none of them", async (t) => {
  const { hub, project, plugin, stager, approver, upload, uploadPlugin, staged } = await startStaging(t);
  await upload(stager.key, "1.0.0", "true");
  await upload(stager.key, "1.1.0", "true");
  await uploadPlugin(stager.key, "2.0.0", { stage: "true" });
  const versions = (await staged(approver.key)).map(({ project_id, version, sha256 }) => ({
    ...{ project_id, version, sha256 },
  }));
  t.equal(versions.length, 3);
  const approve = (json: object) => hub.call("POST", "/devkeys/staging/approve", { key: approver.key, json });
  const wrong = [...versions.slice(0, 2), { ...versions[2], sha256: "0".repeat(64) }];
  t.match(await approve({ versions: wrong }), { status: 409, body: { code: "approval_differs" } });
  t.equal((await staged(approver.key)).length, 3, "none of them was published");
  t.equal((await approve({ versions: [...versions, versions[0]] })).status, 422);
  const done = await approve({ versions });
  t.match(done, {
    status: 200,
    body: { versions: [{ version: "1.0.0" }, { version: "1.1.0" }, { version: "2.0.0" }] },
  });
  for (const id of [project, plugin]) {
    const { items } = (await hub.call("GET", `/devkeys/projects/${id}/versions`)).body;
    t.ok((items as { state?: object }[]).every(({ state }) => state === undefined));
  }
});

t.test("a rejected version leaves its label free, and its bytes go", async (t) => {
  const { hub, project, stager, approver, upload, staged } = await startStaging(t);
  await upload(stager.key, "1.0.0", "true");
  const at = `/devkeys/staging/${project}/1.0.0`;
  t.match(await hub.call("GET", at, { key: stager.key }), { status: 200, body: { version: "1.0.0" } });
  t.equal(
    (await hub.call("POST", `${at}/reject`, { key: approver.key, json: {} })).status,
    422,
    "a reason is asked for",
  );
  const json = { reason: "wrong tides" };
  t.equal((await hub.call("POST", `${at}/reject`, { key: approver.key, json })).status, 204);
  t.same(await staged(approver.key), []);
  t.equal((await hub.call("GET", at, { key: approver.key })).status, 404);
  t.match((await hub.call("GET", "/devkeys/audit?action=version.reject")).body.items, [
    { facts: { reason: "wrong tides" } },
  ]);
  t.equal((await upload(stager.key, "1.0.0", "true")).status, 201, "the label is free");
  t.equal((await hub.call("POST", `${at}/reject`, { key: stager.key, json })).status, 204, "a stager takes it back");
});

t.test("a target that requires approval refuses what is not staged, before its bytes have arrived", async (t) => {
  const { hub, project, approver, upload, uploadPlugin, plugin, newKey, approve } = await startStaging(t);
  const rule = (id: string, required: boolean, key = approver.key) =>
    hub.call("PUT", `/devkeys/projects/${id}/approval`, { key, json: { required } });
  const publisher = await newKey(["publish"]);
  t.equal((await rule(project, false, publisher.key)).status, 403, "a publisher does not change the rule");
  for (const id of [project, plugin]) t.match(await rule(id, true), { status: 200, body: { required: true } });
  t.match((await hub.call("GET", `/devkeys/projects/${project}`)).body, { requires_approval: true });
  const refused = { status: 403, body: { code: "approval_required", detail: /publish with --stage/ } };
  t.match(await upload(publisher.key, "1.0.0"), refused);
  t.match(await uploadPlugin(publisher.key, "1.0.0"), refused);
  const fileFirst = publishForm(publication("1.0.0"), { fileFirst: true });
  const path = `${DEPLOY}/projects/${project}/publish`;
  t.match(await hub.call("POST", path, { key: publisher.key, form: fileFirst }), refused);
  t.equal((await upload(publisher.key, "1.0.0", "true")).status, 201);
  t.equal((await approve(approver.key, "1.0.0")).status, 200);
  await rule(project, false);
  t.equal((await upload(publisher.key, "1.1.0")).status, 201);
});

t.test("a version that was yanked while it waited is not approved", async (t) => {
  const { hub, project, stager, approver, upload, approve } = await startStaging(t);
  await upload(approver.key, "1.0.0");
  await upload(stager.key, "1.1.0", "true");
  await hub.call("POST", `/devkeys/projects/${project}/versions/1.1.0/yank`, { key: approver.key });
  t.match(await approve(approver.key, "1.1.0"), { status: 409, body: { detail: /was yanked/ } });
  await hub.call("DELETE", `/devkeys/projects/${project}/versions/1.1.0/yank`, { key: approver.key });
  t.equal((await approve(approver.key, "1.1.0")).status, 200);
});
