// Only in test:all: fleets whose keys fail, and two hubs that share the count.
import { rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { createHub } from "../../../../lib/hub/hub.ts";
import { createProject, publication, startHub } from "../../../support/hub/harness.ts";
import { startPostgres } from "../../../support/hub/postgres-server.ts";

const AUTH = "/app/deploy/v1/auth";

t.test("a fleet behind one address, whose sessions have ended all at once, comes back at once", async (t) => {
  let now = Date.parse("2026-03-01T00:00:00Z");
  const hub = await startHub(t, { clock: () => now, rateLimits: { failuresPerMinute: 5 } });
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const latest = `/app/deploy/v1/projects/${project.id}/versions/latest`;
  const tokens = await Promise.all(Array.from({ length: 300 }, () => project.session()));
  now += 3_601_000;
  // The first session that opens removes the ended ones from the database.
  await project.session();
  for (const bearer of tokens) {
    const refused = await hub.call("GET", latest, { bearer });
    if (refused.status !== 401) return void t.fail(`the agent cannot renew: ${refused.status}`);
    const renewed = await hub.call("GET", latest, { bearer: await project.session() });
    if (renewed.status !== 200) return void t.fail(`the renewed session is refused: ${renewed.status}`);
  }
  t.pass("each of 300 agents renewed its session");
});

t.test("forged tokens are counted, and one client with wrong keys is nobody else's trouble", async (t) => {
  const hub = await startHub(t, { rateLimits: { failuresPerMinute: 5 } });
  const project = await createProject(hub);
  const latest = `/app/deploy/v1/projects/${project.id}/versions/latest`;
  const forged = async () => (await hub.call("GET", latest, { bearer: `sls_${"A".repeat(54)}` })).status;
  for (let i = 0; i < 5; i++) t.equal(await forged(), 401);
  t.equal(await forged(), 429);
  const revoked = await project.session();
  t.equal((await hub.call("DELETE", `/devkeys/api-keys/${project.keyId}`)).status, 204);
  const ended = await hub.call("GET", latest, { bearer: revoked });
  t.equal(ended.status, 401, "a token of this hub is not a guess");
});

t.test("behind a trusted proxy the forwarded address counts, from anybody else it does not", async (t) => {
  const guess = (hub: Awaited<ReturnType<typeof startHub>>, address: string) =>
    hub.call("GET", "/devkeys/projects", { key: "slk_wrong", headers: { "x-forwarded-for": address } });
  const behind = await startHub(t, {
    dataDir: t.testdir(),
    trustedProxies: ["127.0.0.0/8"],
    rateLimits: { failuresPerMinute: 3 },
  });
  for (let i = 0; i < 3; i++) t.equal((await guess(behind, "203.0.113.9")).status, 401);
  t.equal((await guess(behind, "203.0.113.9")).status, 429);
  t.equal((await guess(behind, "198.51.100.7")).status, 401);

  const exposed = await startHub(t, { dataDir: `${t.testdirName}-exposed`, rateLimits: { failuresPerMinute: 3 } });
  t.teardown(() => rm(exposed.dataDir, { recursive: true }));
  for (let i = 0; i < 3; i++) t.equal((await guess(exposed, `203.0.113.${i}`)).status, 401);
  t.equal((await guess(exposed, "198.51.100.7")).status, 429);
});

t.test("hubs of one PostgreSQL share limits and a clock", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const folder = t.testdir();
  const shared = { databaseUrl, blobUrl: `${folder}/blobs`, keks: { file: `${folder}/kek.json` } };
  const limits = { failuresPerMinute: 10 };
  const first = await startHub(t, { ...shared, dataDir: `${folder}/a`, rateLimits: limits });
  // An hour and a minute ahead: its sessions, and those of the other hub, end when the database says so.
  const clock = () => Date.now() + 61 * 60_000;
  const second = await createHub({
    ...shared,
    dataDir: `${folder}/b`,
    listen: { host: "127.0.0.1", port: 0 },
    rateLimits: limits,
    clock,
  });
  t.teardown(() => second.close());
  const url = await second.listen();
  const project = await createProject(first);
  await project.publish(publication("1.0.0"));
  const bearer = await project.session();
  const latest = `/app/deploy/v1/projects/${project.id}/versions/latest`;
  t.equal((await first.call("GET", url + latest, { bearer })).status, 200, "a session of one works on the other");
  const json = { xdevkey: project.key, project_id: project.id };
  t.equal((await first.call("POST", url + AUTH, { key: null, json })).status, 200);
  t.equal((await first.call("GET", latest, { bearer })).status, 200, "and does not end the others");
  const location = await first.call("GET", `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0`, { bearer });
  const address = new URL((location.body as { download_url: string }).download_url);
  t.equal((await first.call("GET", url + address.pathname + address.search, { key: null })).status, 200);

  const guess = (root: string) => first.call("GET", `${root}/devkeys/projects`, { key: "slk_wrong_key" });
  // Counts begin anew with each minute of the clock.
  const leftMs = 60_000 - (Date.now() % 60_000);
  if (leftMs < 15_000) await delay(leftMs + 100);
  // PostgreSQL stores no NUL: a key that holds one must not keep the other counts from the other hub.
  const odd = { xdevkey: "\0odd", project_id: project.id };
  t.equal((await first.call("POST", AUTH, { key: null, json: odd })).status, 422);
  for (let i = 0; i < 9; i++) await guess(first.url);
  const statuses: number[] = [];
  // The hubs exchange their counts every second. Alone, the second one would refuse the eleventh guess.
  for (let i = 0; i < 9 && !statuses.includes(429); i++) {
    statuses.push((await guess(url)).status);
    await delay(500);
  }
  t.equal(statuses.at(-1), 429, `after 9 guesses at one hub: ${statuses.join(" ")} at the other`);
});

t.test("a hub without a limit of requests still limits failures", async (t) => {
  const hub = await startHub(t, { rateLimits: { requestsPerMinute: 0, failuresPerMinute: 3 } });
  for (let i = 0; i < 20; i++) t.equal((await hub.call("GET", "/devkeys/projects")).status, 200);
  const guess = async () => (await hub.call("GET", "/devkeys/projects", { key: "slk_wrong" })).status;
  for (let i = 0; i < 3; i++) t.equal(await guess(), 401);
  t.equal(await guess(), 429);
});
