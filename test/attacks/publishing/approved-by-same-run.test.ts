import t from "tap";
import { publicationForm, startWorkflow } from "../../support/hub/publishers.ts";

t.test("a workflow run does not approve what it has staged, by whichever of its keys", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const { id: publisher } = (await trust({ target: "plugin:tide", scope: "stage" })).body as { id: string };
  const keyOf = async (changes: object = {}) => {
    const { status, body } = await exchange("plugin:tide", await run({ ...changes }));
    t.equal(status, 201);
    return body.key as string;
  };
  const stager = await keyOf();
  const [path, form] = ["/app/marketplace/plugins/tide/versions", publicationForm("1.0.0")];
  t.equal(
    (await hub.call("POST", path, { key: stager, form: publicationForm("1.0.0") })).status,
    403,
    "it only stages",
  );
  const archive = form.get("archive")!;
  form.delete("archive");
  form.set("stage", "true");
  form.set("archive", archive, "archive.zip");
  t.equal((await hub.call("POST", path, { key: stager, form })).status, 201);
  const { project_id, version, sha256 } = (await hub.call("GET", "/devkeys/staging")).body.items[0];
  const approve = (key: string) =>
    hub.call("POST", "/devkeys/staging/approve", { key, json: { versions: [{ project_id, version, sha256 }] } });
  t.equal((await approve(stager)).status, 403);

  // The same run under another publisher, whose keys may publish.
  await trust({ target: "plugin:tide", name: "all", scope: "publish", claims: { repository_id: "41" } });
  t.equal((await hub.call("DELETE", `/devkeys/publishers/${publisher}`)).status, 204);
  const own = { status: 403, body: { code: "own_approval", detail: /staged by the same workflow run/ } };
  t.match(await approve(await keyOf()), own);
  t.match(
    await approve(await keyOf({ job_workflow_ref: "acme/tide/.github/workflows/other.yml@refs/heads/main" })),
    own,
  );
  t.match(await approve(await keyOf({ run_id: "1002" })), { status: 403 }, "the same person trusts another run");
});
