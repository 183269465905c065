import t, { type Test } from "tap";
import { FEATURES } from "../../../../lib/hub/features.ts";
import { dropQuota, setQuota, usedQuotas } from "../../../../lib/hub/features/quotas/by-hand.ts";
import { retainVersions, type RetentionOptions, versionsToRemove } from "../../../../lib/hub/upkeep/retention.ts";
import { hmacOf, zipOf } from "../../../support/hub/archives.ts";
import {
  createProject,
  isErrorBody,
  type ProjectAccess,
  publication,
  type RunningHub,
  startHub,
} from "../../../support/hub/harness.ts";
import { startPostgres } from "../../../support/hub/postgres-server.ts";

t.test("what can go is beyond the newest, old enough, not the latest, and needed by no host", async (t) => {
  const versions = ["5", "4", "3", "2", "1"].map((version) => ({
    version,
    createdAt: `2026-01-0${version}T00:00:00.000Z`,
    bytes: 1,
  }));
  const facts = { versions, latest: "3", needed: new Set(["1"]), now: Date.parse("2026-01-10") };
  const labels = (keep: number, days: number) =>
    versionsToRemove(facts, { keep, minAgeMs: days * 86_400_000 }).map(({ version }) => version);
  t.strictSame(labels(1, 0), ["4", "2"]);
  t.strictSame(labels(2, 0), ["2"]);
  t.strictSame(labels(1, 7), ["2"], "the 4th is 6 days old");
  t.strictSame(labels(5, 0), []);
});

async function report(hub: RunningHub, project: ProjectAccess, bearer: string, host: string, version: string) {
  const json = {
    ...{ project_id: project.id, deployment_id: "", status: "success", version, host_id: host },
    ...{ started_at: "", completed_at: "", plugins: [] },
  };
  t.equal((await hub.call("POST", "/app/deploy/v1/deployments/report", { bearer, json })).status, 200);
}

/** Retention and quotas of a hub, wherever its records are. */
async function retains(t: Test, databaseUrl?: string): Promise<void> {
  const hub = await startHub(t, databaseUrl === undefined ? {} : { databaseUrl });
  const place = { hooks: FEATURES, dataDir: hub.dataDir, ...(databaseUrl !== undefined && { databaseUrl }) };
  const project = await createProject(hub);
  for (let minor = 0; minor < 8; minor++) await project.publish(publication(`1.${minor}.0`));
  const bearer = await project.session();
  // A host that was long away, one that went on, and one that runs the newest.
  for (const version of ["1.0.0", "1.1.0", "1.2.0", "1.3.0"]) await report(hub, project, bearer, "b", version);
  await report(hub, project, bearer, "a", "1.0.0");
  await report(hub, project, bearer, "c", "1.7.0");
  const archive = zipOf({ "plugin.yaml": "name: tide\n" });
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const release = async (version: string) => {
    const form = new FormData();
    form.set("version", version);
    form.set("signature", hmacOf(archive, "s"));
    form.set("archive", new Blob([new Uint8Array(archive)]), "archive.zip");
    return hub.call("POST", "/app/marketplace/plugins/tide/versions", { form });
  };
  for (const version of ["1.0.0", "2.0.0", "1.1.0"]) t.equal((await release(version)).status, 201);

  const removed: string[] = [];
  const options: RetentionOptions = {
    ...{ keep: 1, minAgeMs: 0, project: undefined, dryRun: true },
    onRemoved: ({ kind }, { version }) => removed.push(`${kind} ${version}`),
  };
  const due = ["project 1.6.0", "project 1.5.0", "project 1.4.0", "project 1.1.0", "plugin 1.0.0"];
  t.match(await retainVersions(place, options), { projects: 2, versions: due.length });
  t.strictSame(removed.toSorted(), due.toSorted(), "1.1.0 is the newest, 2.0.0 the latest");
  t.equal((await hub.call("GET", `/devkeys/projects/${project.id}/versions`)).body.items.length, 8, "a dry run");

  for (const called of ["tide", "Tide", "demo", project.id])
    t.match(await retainVersions(place, { ...options, project: called }), { projects: 1 }, `called ${called}`);
  await t.rejects(retainVersions(place, { ...options, project: "Nothing" }), { code: "usage" });

  removed.length = 0;
  t.match(await retainVersions(place, { ...options, minAgeMs: 3_600_000 }), { versions: 0 }, "too young");
  await retainVersions(place, { ...options, dryRun: false });
  t.strictSame(removed.toSorted(), due.toSorted());
  const left = (await hub.call("GET", `/devkeys/projects/${project.id}/versions`)).body.items as { version: string }[];
  t.strictSame(
    left.map(({ version }) => version),
    ["1.7.0", "1.3.0", "1.2.0", "1.0.0"],
  );
  const detail = (await hub.call("GET", "/app/marketplace/plugins/tide")).body as {
    versions: { version: string }[];
    latest_version: string;
  };
  t.strictSame(detail.versions.map(({ version }) => version).toSorted(), ["1.1.0", "2.0.0"]);
  t.equal(detail.latest_version, "2.0.0");
  const { items } = (await hub.call("GET", "/devkeys/audit?action=version.delete")).body as { items: unknown[] };
  t.equal(items.length, due.length);
  t.match(items[0], { actor: "operator", facts: { reason: "retention keeps 1 version" } });
  isErrorBody(t, await project.publish(publication("1.6.0")), 409, "version_deleted");
  t.match(await retainVersions(place, { ...options, dryRun: false }), { versions: 0 }, "nothing is left to do");

  // Four versions of 1000 bytes, six reports, and two archives.
  const subject = `project/${project.id}` as const;
  const { usage } = await setQuota(place, { subject, max_bytes: 1, max_versions: 6 });
  const reports = usage.bytes - 4000;
  t.ok(reports > 6 * 200 && reports < 6 * 1000, "reports count, too");
  const ofProject = { subject, max_bytes: reports + 5500, max_versions: 6 };
  t.match(await setQuota(place, ofProject), { usage: { bytes: reports + 4000, versions: 4 } });
  await setQuota(place, { subject: "owner/admin", max_bytes: null, max_versions: 7 });
  t.equal((await project.publish(publication("1.8.0"))).status, 201);
  const tooLarge = await project.publish(publication("1.9.0"));
  isErrorBody(t, tooLarge, 413, "quota_exceeded");
  t.match(tooLarge.body.error, `${reports + 5000} of ${reports + 5500} bytes, and this needs 1000.`);
  t.match(await release("3.0.0"), {
    status: 413,
    body: { error: /quota of the owner admin is used up: 7 of 7 versions/ },
  });
  t.equal((await project.publish(publication("1.8.1", { size: 0 }))).status, 413);
  const quotas = await usedQuotas(place);
  t.match(quotas, [
    { subject: "owner/admin", usage: { versions: 7 } },
    { usage: { bytes: reports + 5000, versions: 5 } },
  ]);

  t.match(await dropQuota(place, "owner/admin", { dryRun: true }), { subject: "owner/admin", usage: { versions: 7 } });
  t.equal((await usedQuotas(place)).length, 2, "a dry run lifts no quota");
  await dropQuota(place, "owner/admin");
  await setQuota(place, { ...ofProject, max_bytes: null });
  const racing = await Promise.all(["2.0.0", "2.1.0", "2.2.0"].map((version) => project.publish(publication(version))));
  t.strictSame(racing.map(({ status }) => status).toSorted(), [201, 413, 413], "of three at once one fits");
  await t.rejects(setQuota(place, { ...ofProject, subject: "project/prj_none" }), { code: "usage" });
  for (const dryRun of [true, false]) {
    await t.rejects(dropQuota(place, "owner/admin", { dryRun }), { code: "usage" });
  }
}

t.test("old versions go, but for what hosts run or go back to, and quotas refuse, on SQLite", (t) => retains(t));

t.test("the same on PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  await retains(t, databaseUrl);
});
