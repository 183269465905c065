import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { pino } from "pino";
import t from "tap";
import { createProject, publication, startHub } from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { FLEET_SCOPES, fleetOf, operatedFleet, until } from "../../support/hub/project-fleet.ts";
import { QUICK } from "../../support/hub/rollouts.ts";

t.test("publications and commands end while hosts go on reporting to a live rollout", async (t) => {
  const hub = await startHub(t);
  const busy = await operatedFleet(hub);
  await busy.publish("1.0.0");
  for (const host of ["a", "b"]) await busy.report(host, "1.0.0");
  const { id } = (await busy.start({ version: "2.0.0", waves: ["50%", "100%"], soak_seconds: 3600 })).body as {
    id: string;
  };
  await busy.publish("2.0.0");
  const other = await createProject(hub, FLEET_SCOPES);
  const others = await fleetOf(hub, other);
  let isOver = false;
  let reports = 0;
  const reporting = Array.from({ length: 4 }, async (_, connection) => {
    // Bounded: a command that waited for all reports would end only then.
    while (!isOver && reports < 3000) {
      await busy.report(`host-${connection}`, "1.0.0");
      reports++;
    }
  });
  await until(
    () => Promise.resolve(reports),
    (count) => count > 50,
  );
  await other.publish(publication("1.0.0"));
  const started = (await others.start({ version: "2.0.0", waves: ["100%"], ...QUICK })).body as { id: string };
  await hub.call("POST", `/devkeys/projects/${other.id}/versions/1.0.0/yank`, { json: {} });
  await others.act(started.id, "abort");
  t.ok(reports < 3000, "those of another target");
  await busy.act(id, "pause");
  await busy.act(id, "resume");
  t.match((await busy.act(id, "abort")).body, { state: "aborted" });
  t.ok(reports < 3000, "and those of the same one");
  isOver = true;
  await Promise.all(reporting);
});

t.test("hosts that go back after an abort are counted on", async (t) => {
  const hub = await startHub(t);
  const fleet = await operatedFleet(hub);
  await fleet.publish("1.0.0");
  await fleet.report("a", "1.0.0");
  const rules = { waves: ["100%"], ...QUICK, soak_seconds: 3600 };
  const { id } = (await fleet.start({ version: "2.0.0", ...rules })).body as { id: string };
  await fleet.publish("2.0.0");
  await fleet.report("a", "2.0.0");
  await until(
    () => fleet.show(id),
    ({ waves: [first] }) => first?.done === 1,
  );
  await fleet.act(id, "abort", { rollback: true });
  await fleet.report("a", "1.0.0");
  const after = await until(
    () => fleet.show(id),
    ({ waves: [first] }) => first?.done === 0,
  );
  t.match(after, { state: "aborted", waves: [{ hosts: 1, done: 0 }] });
});

t.test("a rollout of a plugin ends when its owner changes, and its version stays held", async (t) => {
  const hub = await startHub(t);
  const { body: target } = await hub.call("POST", "/devkeys/projects", {
    json: { name: "Tide", kind: "plugin", slug: "tide" },
  });
  const { id } = target as { id: string };
  await hub.call("POST", "/devkeys/api-keys", { json: { name: "n", owner: "new", scopes: FLEET_SCOPES } });
  const rollouts = `/devkeys/projects/${id}/rollouts`;
  const started = await hub.call("POST", rollouts, { json: { version: "1.0.0", waves: ["100%"] } });
  await hub.call("POST", `/devkeys/projects/${id}/transfer`, { json: { owner: "new" } });
  t.match((await hub.call("GET", `${rollouts}/${(started.body as { id: string }).id}`)).body, {
    ...{ state: "aborted", reason: /changed its owner/ },
  });
});

t.test("a target that is deleted while a hub decides about its rollout is not a failure", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return t.plan(0, "PostgreSQL is not installed");
  const lines: string[] = [];
  const logger = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
  const hub = await startHub(t, { databaseUrl, logger });
  const fleet = await operatedFleet(hub);
  await fleet.publish("1.0.0");
  await fleet.report("a", "1.0.0");
  await fleet.start({ version: "2.0.0", waves: ["100%"], ...QUICK, soak_seconds: 1 });
  await fleet.publish("2.0.0");
  await fleet.report("a", "2.0.0");
  const rival = new pg.Client({ connectionString: databaseUrl });
  await rival.connect();
  t.teardown(() => rival.end());
  // Rows that name the project stay: only the project is locked.
  await rival.query("SET session_replication_role = replica");
  await rival.query("BEGIN");
  await rival.query("DELETE FROM projects WHERE id = $1", [fleet.project.id]);
  const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  const waits = async () => (await rival.query(waiting)).rows.length;
  t.equal(await until(waits, (count) => count > 0), 1, "the soak is over, and the hub moves on");
  await rival.query("COMMIT");
  // Another round, and time for its words.
  await sleep(1500);
  t.same(lines, []);
});
