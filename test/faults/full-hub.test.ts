// Only in test:all: disks that fill, which root mounts.
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { examine } from "../../lib/agent/doctor.ts";
import type { Finding } from "../../lib/agent/finding.ts";
import { FEATURES } from "../../lib/hub/features.ts";
import type { HubOptions } from "../../lib/hub/hub.ts";
import { openDatabase } from "../../lib/hub/records/database.ts";
import { storeReports } from "../../lib/hub/records/reports.ts";
import { mountMemory } from "../support/host/loop-file-system.ts";
import {
  type Answer,
  createProject,
  isErrorBody,
  publication,
  type RunningHub,
  startHub,
} from "../support/hub/harness.ts";
import { takeBackMigrations } from "../support/hub/older-schema.ts";
import { Visitor } from "../support/hub/web.ts";
import { metricsOf } from "../support/metrics.ts";

/** A hub with no room left for its database, or for its artifacts: what needs none goes on, and so does the hub. */

const MIB = 1024 * 1024;
const COMMON = { rateLimits: false } satisfies Partial<HubOptions>;

interface Disk {
  folder: string;
  /** Leaves so many bytes, rounded up to a page. */
  fill(bytes?: number): void;
  makeRoom(): void;
}

function smallDisk(t: Test, bytes: number): Disk | undefined {
  const mounted = mountMemory(t, bytes);
  if ("reason" in mounted) return void t.comment(`not mounted here: ${mounted.reason}`);
  const { folder } = mounted;
  const ballast = join(folder, "ballast");
  return {
    folder,
    fill(left = 0) {
      const { bavail, bsize } = statfsSync(folder);
      writeFileSync(ballast, Buffer.alloc(bavail * bsize - left));
    },
    makeRoom: () => rmSync(ballast),
  };
}

function isFull(t: Test, answer: Answer): void {
  isErrorBody(t, answer, 507, "disk_full");
  t.match(answer.headers.get("retry-after"), /^\d+$/);
}

const partsOf = async (hub: RunningHub) =>
  (await hub.call("GET", "/readyz?verbose", { key: null })).body as { status: string; parts: object };

const reportOf = (projectId: string) => ({
  ...{ project_id: projectId, deployment_id: randomUUID(), status: "success", version: "1.0.0", plugins: [] },
  ...{ started_at: new Date().toISOString(), completed_at: new Date().toISOString(), host_id: "host" },
  error_message: null,
});

t.test(
  "a hub starts on a full disk as often as it has to, reads, refuses writes, and recovers by itself",
  async (t) => {
    const disk = smallDisk(t, 8 * MIB);
    if (disk === undefined) return;
    const dataDir = join(disk.folder, "hub");
    let hub = await startHub(t, { ...COMMON, dataDir });
    const project = await createProject(hub);
    const first = publication("1.0.0");
    t.equal((await project.publish(first)).status, 201);
    await hub.hub.close();
    disk.fill();
    for (const time of ["first", "second"]) {
      hub = await startHub(t, { ...COMMON, dataDir });
      t.equal((await hub.call("GET", `/devkeys/projects/${project.id}/versions`)).status, 200, `${time} start`);
      const create = () => hub.call("POST", "/devkeys/projects", { json: { name: randomUUID(), kind: "project" } });
      let answer = await create();
      // SQLite may have a page left.
      for (let tries = 0; answer.status === 201 && tries < 200; tries++) answer = await create();
      isFull(t, answer);
      const write = { ok: false, trouble: "full" };
      t.match(await partsOf(hub), {
        status: "degraded",
        parts: { database_read: { ok: true }, database_write: write },
      });
      if (time === "first") await hub.hub.close();
    }
    disk.makeRoom();
    await new Promise((resolve) => setTimeout(resolve, 600));
    t.match(await partsOf(hub), { status: "ok" });
    const { status } = await hub.call("POST", "/devkeys/projects", { json: { name: "again", kind: "project" } });
    t.equal(status, 201, "without a restart");
  },
);

t.test("a full database answers writes with 507 and reads as before, and recovers by itself", async (t) => {
  const disk = smallDisk(t, 8 * MIB);
  if (disk === undefined) return;
  const hub = await startHub(t, { ...COMMON, dataDir: join(disk.folder, "hub"), blobUrl: t.testdir() });
  const project = await createProject(hub);
  const first = publication("1.0.0");
  t.equal((await project.publish(first)).status, 201);
  const session = await project.session();
  const latest = (): Promise<Answer> =>
    hub.call("GET", `/app/deploy/v1/projects/${project.id}/versions/latest`, { bearer: session });
  const auth = (): Promise<Answer> =>
    hub.call("POST", "/app/deploy/v1/auth", { key: null, json: { xdevkey: project.key, project_id: project.id } });
  const report = (): Promise<Answer> =>
    hub.call("POST", "/app/deploy/v1/deployments/report", { bearer: session, json: reportOf(project.id) });

  disk.fill();
  // The log of SQLite has some pages of its own left, which are used again.
  const refused = async (ask: () => Promise<Answer>): Promise<Answer> => {
    for (let tries = 0; ; tries++) {
      const answer = await ask();
      if (answer.status >= 300 || tries === 2000) return answer;
    }
  };
  isFull(t, await refused(report));
  isFull(t, await refused(auth));
  let version = 1;
  isFull(t, await refused(() => project.publish(publication(`1.${++version}.0`))));
  t.match(await latest(), { status: 200 });
  const { status, parts } = await partsOf(hub);
  t.equal(status, "degraded");
  t.match(parts, { database_read: { ok: true }, database_write: { ok: false, trouble: "full" }, blobs: { ok: true } });

  disk.makeRoom();
  for (const ask of [auth, report, () => project.publish(publication("2.0.0"))])
    t.ok([200, 201].includes((await ask()).status));
  t.match(await latest(), { body: { version: "2.0.0" } });
});

t.test("full blobs refuse an upload with 507 and keep nothing of it, and take the next one", async (t) => {
  const disk = smallDisk(t, 4 * MIB);
  if (disk === undefined) return;
  const blobs = join(disk.folder, "blobs");
  mkdirSync(blobs);
  const hub = await startHub(t, { ...COMMON, blobUrl: blobs });
  const project = await createProject(hub);
  const large = publication("1.0.0", { size: MIB });
  disk.fill(MIB / 2);
  isFull(t, await project.publish(large));
  t.strictSame(readdirSync(join(blobs, "incoming")), []);
  t.match(await partsOf(hub), { status: "ok" }, "there is room for smaller ones");
  t.equal((await project.publish(publication("0.9.0"))).status, 201);
  disk.makeRoom();
  t.equal((await project.publish(large)).status, 201);
  const session = await project.session();
  const location = await hub.call("GET", `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0`, { bearer: session });
  const stored = await hub.call("GET", location.body.download_url as string, { key: null });
  t.ok(stored.bytes.equals(large.bytes));
});

const RECORD = { version: "1.0.0", status: "success", error_message: null, completed_at: "" };

/** Stores reports of a few thousand hosts, whose rows a migration of 0.1.0's database writes anew. */
async function storeHosts(dataDir: string, target: string): Promise<void> {
  const database = await openDatabase({ hooks: FEATURES, dataDir });
  const createdAt = new Date().toISOString();
  const reports = Array.from({ length: 3000 }, (_, index) => ({
    ...{ holder: "admin", target, id: `dpl_${randomUUID()}`, hostId: `host-${index}`, version: "1.0.0" },
    ...{ status: "success" as const, deployment: null, record: "{}", isNamed: false, isBound: false, createdAt },
    hostRecord: { ...RECORD, created_at: createdAt } as never,
  }));
  for (let at = 0; at < reports.length; at += 500) await storeReports(database.kysely, reports.slice(at, at + 500));
  await database.close();
}

t.test("a disk that fills in the middle of a migration leaves a hub that starts when there is room", async (t) => {
  const disk = smallDisk(t, 16 * MIB);
  if (disk === undefined) return;
  const dataDir = join(disk.folder, "hub");
  let hub = await startHub(t, { ...COMMON, dataDir });
  const project = await createProject({ call: (...request) => hub.call(...request) });
  t.equal((await project.publish(publication("1.0.0"))).status, 201);
  await hub.hub.close();
  await storeHosts(dataDir, `project/${project.id}`);
  takeBackMigrations(join(dataDir, "hub.sqlite"));
  for (const left of [0, MIB / 16, MIB / 4]) {
    disk.fill(left);
    await t.rejects(startHub(t, { ...COMMON, dataDir }), { code: "disk_full" }, `${left} bytes are left`);
    disk.makeRoom();
  }
  hub = await startHub(t, { ...COMMON, dataDir });
  t.equal((await project.publish(publication("1.1.0"))).status, 201);
  const { body } = await hub.call("GET", `/devkeys/projects/${project.id}/versions`);
  t.equal((body.items as unknown[]).length, 2);
});

t.test("a hub starts with full blobs on a disk of their own, says so everywhere, serves, and recovers", async (t) => {
  const disk = smallDisk(t, 4 * MIB);
  if (disk === undefined) return;
  const options = { ...COMMON, dataDir: join(t.testdir(), "hub"), blobUrl: join(disk.folder, "blobs") };
  mkdirSync(options.blobUrl);
  let hub = await startHub(t, options);
  const project = await createProject({ call: (...request) => hub.call(...request) });
  const stored = publication("1.0.0");
  t.equal((await project.publish(stored)).status, 201);
  await hub.hub.close();
  disk.fill();
  hub = await startHub(t, { ...options, metricsListen: { host: "127.0.0.1", port: 0 } });
  isFull(t, await project.publish(publication("1.1.0")));
  const session = await project.session();
  const location = await hub.call("GET", `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0`, { bearer: session });
  const served = await hub.call("GET", location.body.download_url as string, { key: null });
  t.ok(served.bytes.equals(stored.bytes), "reads are served");

  const full = { database_write: { ok: true }, blobs: { ok: false, trouble: "full" } };
  t.match(await partsOf(hub), { status: "degraded", parts: full });
  const { value } = await metricsOf(hub.hub.metricsUrl!);
  t.equal(value("sealift_hub_part_up", { part: "blobs" }), 0);
  const visitor = await new Visitor(hub.url).signIn(hub.adminKey);
  t.match((await visitor.request("/hub")).html, /Storage of artifacts.*?>full</s);
  const findings: Finding[] = [];
  const connection = { hubUrl: hub.url, apiKey: hub.adminKey, timeoutMs: 10_000 };
  const supervisor = { name: "none" as const };
  for await (const finding of examine({ projectRoot: disk.folder, supervisor, hub: connection }))
    findings.push(finding);
  const found = (check: string) => findings.find((finding) => finding.check === check);
  t.match(found("disk"), { status: "failed", message: "The disk is full" });
  t.match(found("hub storage"), { status: "warning", message: /storage of artifacts is full: nothing is published/ });
  t.equal(found("key")?.status, "ok");

  disk.makeRoom();
  t.equal((await project.publish(publication("1.1.0"))).status, 201, "without a restart");
});
