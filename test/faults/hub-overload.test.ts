// Only in test:all: a hub under more load than it can bear.
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { pino } from "pino";
import t, { type Test } from "tap";
import { createProject, isErrorBody, publication, startHub } from "../support/hub/harness.ts";
import { startPostgresServer } from "../support/hub/postgres-server.ts";
import { until } from "../support/until.ts";

const DEPLOY = "/app/deploy/v1";
/** More than a hub has connections. */
const MANY = 40;
/** Its connections that are not for polls alone. */
const OTHERS = 6;

/** A hub on PostgreSQL, with somebody else who can make its statements wait. */
async function startHubAndRival(t: Test) {
  const postgres = await startPostgresServer(t);
  if (postgres === undefined) return undefined;
  const logs: { requestId?: string; refusal?: string; refused?: number }[] = [];
  const logger = pino({ level: "info" }, { write: (line: string) => void logs.push(JSON.parse(line) as object) });
  const hub = await startHub(t, { databaseUrl: postgres.url, logger });
  const rival = new pg.Client({ connectionString: postgres.url });
  await rival.connect();
  t.teardown(() => rival.end());
  const project = await createProject(hub);
  t.equal((await project.publish(publication("1.0.0"))).status, 201);
  const bearer = await project.session();
  return {
    ...{ hub, rival, project, bearer, logs },
    latest: () => hub.call("GET", `${DEPLOY}/projects/${project.id}/versions/latest`, { bearer }),
    report: (host_id: string) => {
      const of = { project_id: project.id, deployment_id: host_id, status: "success", version: "1.0.0", host_id };
      const json = { ...of, started_at: "", completed_at: "", plugins: [] };
      return hub.call("POST", `${DEPLOY}/deployments/report`, { bearer, json });
    },
    /** Waits until statements of the hub wait for the rival. @returns how many do */
    blocked: async (least: number): Promise<number> => {
      let count = 0;
      await until(async () => {
        await rival.query("select pg_stat_clear_snapshot()");
        const { rows } = await rival.query(
          "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock'",
        );
        ({ n: count } = rows[0] as { n: number });
        return count >= least;
      });
      return count;
    },
  };
}

t.test("reports of one project that wait for each other leave the connections to others", async (t) => {
  const started = await startHubAndRival(t);
  if (started === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const { hub, rival, project, bearer, latest, report, blocked } = started;
  t.equal((await report("first")).status, 200);
  await rival.query("begin; select * from views for update");
  const reports = Array.from({ length: MANY }, (_, index) => report(`host-${index}`));
  await blocked(1);
  t.equal((await latest()).status, 200);
  t.ok(await project.session());
  t.equal(await blocked(1), 1);
  await rival.query("commit");
  t.strictSame(new Set((await Promise.all(reports)).map(({ status }) => status)), new Set([200]));
  const fleet = await hub.call("GET", `${DEPLOY}/projects/${project.id}/hosts`, { bearer });
  t.equal(Object.keys(fleet.body as object).length, MANY + 1);
  t.equal(fleet.headers.get("x-cursor"), String(MANY + 1));
});

t.test("a hub whose requests wait for the database refuses new ones at once, and says when to come back", async (t) => {
  const started = await startHubAndRival(t);
  if (started === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const { hub, rival, project, bearer, logs, latest, blocked } = started;
  await rival.query("begin; lock table sessions in exclusive mode");
  const json = { xdevkey: project.key, project_id: project.id };
  const auth = () => hub.call("POST", `${DEPLOY}/auth`, { key: null, json });
  const sessions = Array.from({ length: MANY }, auth);
  await blocked(OTHERS);
  // They would wait until the rival is done, or until they give up.
  const waiting = Promise.all([latest(), latest()]);
  const path = `${DEPLOY}/projects/${project.id}/artifacts/1.0.0`;
  for (let refused = false; !refused; await delay(20)) {
    const answer = await Promise.race([auth(), delay(1000)]);
    refused = answer?.status === 503;
    if (!refused || answer === undefined) continue;
    isErrorBody(t, answer, 503, "hub_unavailable");
    t.match(answer.body, { error: /overloaded/ });
    t.equal(answer.headers.get("retry-after"), "5");
    const lines = () => logs.filter(({ requestId }) => requestId === answer.headers.get("x-request-id"));
    await until(() => lines().length !== 0);
    t.match(lines(), [{ msg: "request", status: 503, refusal: /overloaded/, err: undefined }], "one line, no stack");
    t.equal(lines().length, 1);
  }
  isErrorBody(t, await latest(), 503, "hub_unavailable");
  t.equal((await hub.call("GET", "/readyz", { key: null })).status, 200, "it stays in the balancer");
  const begun = hub.call("GET", path, { bearer });
  t.equal((await hub.call("GET", "/healthz", { key: null })).status, 200);
  await rival.query("commit");
  const all = await Promise.all([...sessions, begun]);
  // On a very slow machine some may have waited for as long as they are allowed to.
  t.ok(
    [...all, ...(await waiting)].filter(({ status }) => status === 200).length > MANY / 2,
    "those inside are served",
  );
  await until(async () => (await latest()).status === 200);
});

t.test("requests that are refused alike are one line of the log a second, with their number", async (t) => {
  const started = await startHubAndRival(t);
  if (started === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const { hub, rival, project, logs, latest, blocked } = started;
  await rival.query("begin; lock table sessions in exclusive mode");
  const json = { xdevkey: project.key, project_id: project.id };
  const auth = () => hub.call("POST", `${DEPLOY}/auth`, { key: null, json });
  // Most of them give up before a connection becomes free.
  const answers = Array.from({ length: MANY }, auth);
  await blocked(OTHERS);
  await until(async () => {
    const asked = latest();
    answers.push(asked);
    return (await Promise.race([asked, delay(100)]))?.status === 503;
  });
  for (let index = 0; index < 200; index++) answers.push(latest());
  await answers[0];
  await rival.query("rollback");
  const refused = (await Promise.all(answers)).filter(({ status }) => status === 503).length;
  t.ok(refused > 200, `${refused} were refused`);
  const lines = () => logs.filter(({ refusal }) => refusal !== undefined);
  const told = () => lines().reduce((sum, line) => sum + (line.refused ?? 1), 0);
  await until(() => told() >= refused);
  t.equal(told(), refused, "each is in one of the lines");
  t.ok(lines().length < 20, `${lines().length} lines`);
});
