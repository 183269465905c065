// Only in test:all: a hub under more load than it can bear.
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { type Answer, createProject, isErrorBody, publication, startHub } from "../support/hub/harness.ts";
import { startPostgresServer } from "../support/hub/postgres-server.ts";
import { startWire, type Wire } from "../support/hub/wire.ts";
import { until } from "../support/until.ts";

const WRITERS = 8;
/** After PostgreSQL is back, all is well this soon. */
const RECOVERY_MS = 3000;

t.test("a restart of PostgreSQL under 8 writers loses nothing, and is told as 503 only", async (t) => {
  const postgres = await startPostgresServer(t);
  if (postgres === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const hub = await startHub(t, { databaseUrl: postgres.url, rateLimits: false });
  const project = await createProject(hub);
  const acknowledged: string[] = [];
  const others = new Map<number, number>();
  let writing = true;
  let lastFailure = 0;
  let number = 0;
  const writer = async () => {
    while (writing) {
      const version = `1.0.${number++}`;
      const answer = await project.publish(publication(version));
      if (answer.status === 201) acknowledged.push(version);
      else {
        others.set(answer.status, (others.get(answer.status) ?? 0) + 1);
        lastFailure = performance.now();
        if (answer.status === 503) t.ok(Number(answer.headers.get("retry-after")) > 0);
        await delay(50);
      }
    }
  };
  const writers = Array.from({ length: WRITERS }, writer);
  for (let restart = 0; restart < 2; restart++) {
    const before = acknowledged.length;
    await until(() => acknowledged.length >= before + 20);
    await postgres.stop();
    await delay(300);
    await postgres.start();
    const back = performance.now();
    await delay(RECOVERY_MS);
    t.ok(lastFailure < back + RECOVERY_MS - 500, `restart ${restart}: well again in time`);
  }
  writing = false;
  await Promise.all(writers);
  t.strictSame([...others.keys()], [503], JSON.stringify([...others]));
  const bearer = await project.session();
  for (const version of acknowledged) {
    const path = `/app/deploy/v1/projects/${project.id}/artifacts/${version}`;
    const location = await hub.call("GET", path, { bearer });
    t.equal(location.status, 200, `${version} was acknowledged`);
  }
  const last = await hub.call("GET", `/app/deploy/v1/projects/${project.id}/artifacts/${acknowledged.at(-1)}`, {
    bearer,
  });
  t.equal((await hub.call("GET", location(last.body as { download_url: string }), { key: null })).status, 200);
});

const location = (body: { download_url: string }) => body.download_url;

t.test("while PostgreSQL stands still, every request gets 503 within 5 s, and afterwards all is well", async (t) => {
  const postgres = await startPostgresServer(t);
  if (postgres === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const hub = await startHub(t, { databaseUrl: postgres.url, rateLimits: false, databasePoolSize: 4 });
  const project = await createProject(hub);
  const bearer = await project.session();
  t.equal((await project.publish(publication("1.0.0"))).status, 201);
  const requests: (() => Promise<Answer>)[] = [
    () => hub.call("GET", `/app/deploy/v1/projects/${project.id}/versions/latest`, { bearer }),
    () => hub.call("GET", "/devkeys/projects"),
    () => hub.call("POST", "/devkeys/projects", { json: { name: "x", kind: "project" } }),
    () =>
      hub.call("POST", "/app/deploy/v1/auth", { key: null, json: { xdevkey: project.key, project_id: project.id } }),
  ];
  let slowestMs = 0;
  const timed = async (request: () => Promise<Answer>): Promise<number> => {
    const started = performance.now();
    const { status } = await request();
    slowestMs = Math.max(slowestMs, performance.now() - started);
    return status;
  };
  const resume = await postgres.freeze();
  const asked = Array.from({ length: 24 }, (_, index) =>
    delay(index * 100).then(() => timed(requests[index % requests.length]!)),
  );
  const statuses = await Promise.all([...asked, timed(() => project.publish(publication("1.1.0")))]);
  await resume();
  t.strictSame([...new Set(statuses)], [503]);
  t.ok(slowestMs < 5000, `the slowest took ${Math.round(slowestMs)} ms`);
  const until = performance.now() + RECOVERY_MS;
  let status = 0;
  while (status !== 200 && performance.now() < until) status = await timed(requests[1]!);
  t.equal(status, 200);
  for (const request of requests) t.ok((await timed(request)) < 300);
});

t.test("a PostgreSQL that is silent is given up in time, and its connections with it", async (t) => {
  const postgres = await startPostgresServer(t);
  if (postgres === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const wire = await startWire(t, postgres.port);
  const databaseUrl = postgres.url.replace(`:${postgres.port}/`, `:${wire.port}/`);
  const hub = await startHub(t, { databaseUrl, statementTimeoutMs: 500, databasePoolSize: 2 });
  const project = await createProject(hub);
  const bearer = await project.session();
  await project.publish(publication("1.0.0"));
  const latest = () => hub.call("GET", `/app/deploy/v1/projects/${project.id}/versions/latest`, { bearer });
  t.equal((await latest()).status, 200);

  wire.mode = "silent";
  const started = performance.now();
  const ready = await hub.call("GET", "/readyz?verbose");
  t.ok(performance.now() - started < 2500, "readiness takes 2 s at most");
  isErrorBodyWith(t, ready);
  const asked = performance.now();
  isErrorBody(t, await latest(), 503, "hub_unavailable");
  t.ok(performance.now() - asked < 20_000, "also on a busy machine");
  const all: Promise<unknown>[] = [];
  let atTheDoor: Answer | undefined;
  for (; atTheDoor === undefined; await delay(50))
    all.push(latest().then((answer) => answer.headers.get("retry-after") === "5" && (atTheDoor ??= answer)));
  isErrorBody(t, atTheDoor, 503, "hub_unavailable");
  t.match(atTheDoor.body, { error: /database does not answer/ }, "it is not called overloaded");

  wire.mode = "open";
  wire.cut();
  await Promise.all(all);
  for (let attempt = 0; attempt < 50 && (await latest()).status !== 200; attempt++) await delay(100);
  t.equal((await latest()).status, 200);
  t.equal((await hub.call("GET", "/readyz")).body.status, "ok");
});

function isErrorBodyWith(t: { match: (a: unknown, b: unknown) => unknown }, ready: { status: number; body: unknown }) {
  t.match(ready, {
    status: 503,
    body: { code: "hub_unavailable", parts: { database_read: { ok: false, trouble: "away" } } },
  });
}

t.test("a database that can only be read serves agents, and refuses the rest until it can be written", async (t) => {
  const postgres = await startPostgresServer(t);
  if (postgres === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const hub = await startHub(t, { databaseUrl: postgres.url });
  const project = await createProject(hub);
  const bearer = await project.session();
  t.equal((await project.publish(publication("1.0.0"))).status, 201);
  const terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sealift-hub'";

  await postgres.run("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()", terminate);
  await delay(700);
  const ready = await hub.call("GET", "/readyz?verbose");
  t.equal(ready.status, 200, "it stays in the balancer");
  t.match(ready.body, {
    status: "degraded",
    parts: { database_read: { ok: true }, database_write: { ok: false, trouble: "read-only" }, blobs: { ok: true } },
  });
  const refused = await project.publish(publication("1.1.0"));
  isErrorBody(t, refused, 503, "hub_unavailable");
  t.equal(refused.headers.get("retry-after"), "5");
  t.match(refused.body.error, /can only be read/, "not that it is away");
  const json = { xdevkey: project.key, project_id: project.id };
  isErrorBody(t, await hub.call("POST", "/app/deploy/v1/auth", { key: null, json }), 503, "hub_unavailable");
  const latest = await hub.call("GET", `/app/deploy/v1/projects/${project.id}/versions/latest`, { bearer });
  t.strictSame(latest.body, { version: "1.0.0" });

  await postgres.run("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()");
  await delay(700);
  t.equal((await hub.call("GET", "/readyz")).body.status, "ok");
  t.equal((await project.publish(publication("1.1.0"))).status, 201);
});

t.test("a commit whose answer is lost keeps the version that it published", async (t) => {
  const postgres = await startPostgresServer(t);
  if (postgres === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const wire = await startWire(t, postgres.port);
  const databaseUrl = postgres.url.replace(`:${postgres.port}/`, `:${wire.port}/`);
  const hub = await startHub(t, { databaseUrl });
  const project = await createProject(hub);
  const bearer = await project.session();
  /** The commit of the connection that has written a version's record: the hub commits other things on others. */
  const publishing = (): Wire["losesAnswer"] => {
    const writers = new Set<Socket>();
    return (bytes, client) => {
      if (bytes.includes('insert into "versions"')) writers.add(client);
      return writers.has(client) && bytes.includes("commit");
    };
  };
  let isCommit = publishing();
  wire.losesAnswer = (...sent) => {
    if (!isCommit(...sent)) return false;
    wire.losesAnswer = () => false;
    return true;
  };
  const what = publication("1.0.0");
  const published = await project.publish(what);
  t.equal(published.status, 201, "the database was asked what became of it");
  const path = `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0`;
  const { body } = await hub.call("GET", path, { bearer });
  const bytes = await hub.call("GET", location(body as { download_url: string }), { key: null });
  t.ok(bytes.bytes.equals(what.bytes));

  // The database cannot be asked either: the publisher hears 503, and tries again.
  isCommit = publishing();
  wire.losesAnswer = (...sent) => {
    if (!isCommit(...sent)) return false;
    wire.mode = "cut";
    setImmediate(() => wire.cut());
    return true;
  };
  const second = publication("1.1.0");
  isErrorBody(t, await project.publish(second), 503, "hub_unavailable");
  wire.losesAnswer = () => false;
  wire.mode = "open";
  const again = await project.publish(second);
  t.ok([200, 201].includes(again.status), `${again.status}`);
  const found = await hub.call("GET", `/app/deploy/v1/projects/${project.id}/artifacts/1.1.0`, { bearer });
  t.ok(
    (await hub.call("GET", location(found.body as { download_url: string }), { key: null })).bytes.equals(second.bytes),
  );
});
