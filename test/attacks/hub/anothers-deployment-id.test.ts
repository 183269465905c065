/** A host gives its deployment the id of another host's, whose report it has read on the stick or in the fleet. */
import t, { type Test } from "tap";
import type { MadeKit } from "../../../lib/contract/kits/records.ts";
import { createProject, publication, type RunningHub, startHub } from "../../support/hub/harness.ts";
import { offlineHost, reportOf, submitted } from "../../support/hub/kits.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { withSettings } from "../../support/hub/settings.ts";

async function byKit(t: Test, hub: RunningHub): Promise<void> {
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const [pier, thief] = [offlineHost("pier-7"), offlineHost("thief-1")];
  const json = { version: "1.0.0", hosts: [pier.named, thief.named], deployment_credential: project.credential };
  const { id } = (await hub.call("POST", `/devkeys/projects/${project.id}/kits`, { key: project.key, json }))
    .body as unknown as MadeKit;
  const same = { deployment_id: "1" };
  const theirs = reportOf(pier, id, project.id, { ...same, status: "failed" });
  t.match(await submitted(hub, [reportOf(thief, id, project.id, same), theirs]), [
    { state: "taken", host_id: "thief-1" },
    { state: "taken", host_id: "pier-7" },
  ]);
  t.match((await hub.call("GET", `/app/deploy/v1/projects/${project.id}/hosts/pier-7`)).body, {
    ...{ deployment_id: "1", status: "failed" },
  });
  t.match(await submitted(hub, [theirs]), [{ state: "known", host_id: "pier-7" }], "its own counts once");
}

async function online(t: Test, hub: RunningHub): Promise<void> {
  const { id, host } = await withSettings(hub);
  const report = async (name: string, key: string, status: string) => {
    const json = { project_id: id, deployment_id: "1", status, version: "1.0.0", host_id: name, plugins: [] };
    const times = { started_at: "2026-01-01T00:00:00Z", completed_at: "2026-01-01T00:00:00Z" };
    const { body } = await hub.call("POST", "/app/deploy/v1/auth", {
      key: null,
      json: { xdevkey: key, project_id: id },
    });
    const authorization = `Bearer ${body["access_token"] as string}`;
    const sent = { json: { ...json, ...times }, key: null, headers: { authorization } };
    t.match(await hub.call("POST", "/app/deploy/v1/deployments/report", sent), { status: 200 });
  };
  const [thief, pier] = [await host("thief-1"), await host("pier-7")];
  await report("thief-1", thief.api, "success");
  await report("pier-7", pier.api, "failed");
  await report("pier-7", pier.api, "success");
  t.match((await hub.call("GET", `/app/deploy/v1/projects/${id}/hosts/pier-7`)).body, {
    ...{ deployment_id: "1", status: "failed" },
  });
}

for (const [way, check] of Object.entries({ "by a kit": byKit, online })) {
  t.test(`no host makes another's report vanish, ${way}, on SQLite`, async (t) =>
    check(t, await startHub(t, { rateLimits: false })),
  );
  t.test(`no host makes another's report vanish, ${way}, on PostgreSQL`, async (t) => {
    const databaseUrl = await startPostgres(t);
    if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
    await check(t, await startHub(t, { databaseUrl, rateLimits: false }));
  });
}
