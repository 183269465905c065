import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { HubOptions } from "../../lib/hub/hub.ts";
import { mountMemory } from "../support/host/loop-file-system.ts";
import {
  type Answer,
  createProject,
  isErrorBody,
  publication,
  type RunningHub,
  startHub,
} from "../support/hub/harness.ts";

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
