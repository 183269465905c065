import t from "tap";
import { createProject, publication, startHub } from "../../support/hub/harness.ts";

t.test("a project that went to another owner is closed to the sessions and URLs of its former owner", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  t.equal((await project.publish(publication("1.0.0"))).status, 201);
  const scopes = ["projects", "deploy", "report", "read"];
  const { key } = (await hub.call("POST", "/devkeys/api-keys", { json: { name: "next", owner: "next", scopes } }))
    .body as { key: string };
  const former = (await hub.call("POST", "/devkeys/api-keys", { json: { name: "former", scopes } })).body as {
    key: string;
  };
  const open = await hub.call("POST", "/app/deploy/v1/auth", {
    key: null,
    json: { xdevkey: former.key, project_id: project.id },
  });
  const bearer = open.body.access_token as string;
  const base = `/app/deploy/v1/projects/${project.id}`;
  const located = await hub.call("GET", `${base}/artifacts/1.0.0`, { bearer });
  const url = located.body.download_url as string;
  t.equal((await hub.call("GET", url, { key: null })).status, 200);

  await hub.call("POST", `/devkeys/projects/${project.id}/transfer`, { json: { owner: "next" } });
  for (const path of ["/versions/latest", "/artifacts/1.0.0", "/artifacts/1.0.0/statements", "/hosts", "/fleet"])
    t.match(await hub.call("GET", base + path, { bearer }), { status: 401, body: { code: "key_rejected" } }, path);
  const report = {
    ...{ project_id: project.id, deployment_id: "d", version: "1.0.0", status: "failed", plugins: [] },
    ...{ started_at: "2026-01-01T00:00:00Z", completed_at: "2026-01-01T00:00:01Z" },
  };
  t.equal((await hub.call("POST", "/app/deploy/v1/deployments/report", { bearer, json: report })).status, 401);
  t.strictSame((await hub.call("GET", `${base}/hosts`, { key })).body, {}, "the new owner's fleet");
  t.equal((await hub.call("GET", url, { key: null })).status, 404);
});
