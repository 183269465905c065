// Holds: what health of a host a hub keeps and tells (lib/hub/records/host-rows.ts)
import t, { type Test } from "tap";
import { Fleet } from "../../../commands/fleets/fleet.ts";
import { FleetWait } from "../../../commands/fleets/fleet-wait.ts";
import { type RunningHub, startHub } from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { operatedFleet, until } from "../../support/hub/project-fleet.ts";
import { startReceiver } from "../../support/hub/receiver.ts";
import { QUICK } from "../../support/hub/rollouts.ts";
import { senderOf } from "../../support/hub/webhooks.ts";
import { runHere } from "../../support/programs/run-here.ts";

const LOCAL = { webhookAllow: ["127.0.0.0/8"], rateLimits: false } as const;
const SINCE = "2026-11-27T10:00:00.000Z";
const CAUSE = "apps/web: GET http://127.0.0.1:3000/healthz answered 500";

/** Reports of a watch about the health of what runs. */
const SICK = { status: "failed", error_message: `unhealthy: ${CAUSE}`, health: { state: "unhealthy", since: SINCE } };
const WELL = { status: "success", health: { state: "healthy", since: "2026-11-27T11:00:00.000Z" } };

async function tells(t: Test, hub: RunningHub): Promise<void> {
  const fleet = await operatedFleet(hub);
  const receiver = await startReceiver(t);
  const json = { url: receiver.url, events: ["host.failed", "host.unhealthy", "host.healthy"] };
  await hub.call("POST", "/devkeys/webhooks", { json });
  const base = `/app/deploy/v1/projects/${fleet.project.id}`;
  const hosts = async (query = "limit=100") => (await hub.call("GET", `${base}/hosts?${query}`, fleet)).body as object;
  const heard = async (): Promise<string[]> => {
    await senderOf(hub.hub).idle();
    return receiver.received.map(({ body }) => (body as { type: string }).type);
  };
  await fleet.publish("1.0.0", "1.1.0");
  for (const host of ["a", "b"]) await fleet.report(host, "1.0.0");

  await fleet.report("a", "1.0.0", SICK);
  await fleet.report("a", "1.0.0", SICK);
  t.strictSame(await heard(), ["host.unhealthy"], "one message for a change, and no failed deployment");
  t.match(receiver.received[0]!.body, {
    data: { host_id: "a", version: "1.0.0", since: SINCE, error_message: CAUSE },
  });
  const sick = { state: "failed", running_version: "1.0.0", health: SICK.health };
  t.match(await hosts(), { a: sick, b: { state: "ok" } });
  t.match(await hosts("state=failed&limit=100"), { a: sick });
  t.match((await hub.call("GET", `${base}/fleet`, fleet)).body, { states: { failed: 1, ok: 1 }, unhealthy: 1 });
  const at = ["--hub-url", hub.url, "--api-key", hub.adminKey];
  const target = `project:${fleet.project.id}`;
  const shown = await runHere([Fleet], ["fleet", target, "--no-tui", ...at]);
  t.match(shown.stdout, /^a +1\.0\.0 .* unhealthy .* since 2026-11-27 .*: apps\/web: GET .* answered 500$/m);
  t.match(shown.stderr, /2 hosts, 1 failing, 1 unhealthy/);
  const all = await runHere([Fleet], ["fleet", target, "--json", ...at]);
  t.match(JSON.parse(all.stdout.split("\n")[0]!), { host_id: "a", health: SICK.health });
  const wait = ["fleet", "wait", target, "--version", "1.0.0", "--min", "100%", "--timeout", "0", ...at];
  t.match(await runHere([FleetWait], wait), { code: 75, stderr: /1 of 2 hosts run 1\.0\.0, 1 failing/ });

  t.comment("a deployment that fails leaves what runs as it was; one that succeeds ends it");
  await fleet.report("a", "1.1.0", { status: "failed", running_version: "1.0.0", error_message: "port taken" });
  t.match(await hosts(), { a: { ...sick, version: "1.1.0" } });
  t.strictSame(await heard(), ["host.unhealthy", "host.failed"]);
  await fleet.report("a", "1.1.0");
  t.match(await hosts(), { a: { state: "ok", health: undefined } });
  t.strictSame(await heard(), ["host.unhealthy", "host.failed", "host.healthy"]);

  await fleet.report("b", "1.0.0", SICK);
  await fleet.report("b", "1.0.0", WELL);
  t.match(await hosts(), { b: { state: "ok", health: WELL.health } });
  // Two that are due at once come in any order.
  t.strictSame((await heard()).slice(3).toSorted(), ["host.healthy", "host.unhealthy"]);
  t.match((await hub.call("GET", `${base}/fleet`, fleet)).body, { states: { failed: 0, ok: 2 }, unhealthy: 0 });
  for (const health of [{ state: "sick", since: SINCE }, { state: "unhealthy", since: "yesterday" }, "unhealthy", null])
    t.equal((await fleet.report("b", "1.0.0", { health })).status, 422, JSON.stringify(health));

  t.comment("a record that a hub without health has kept says it in its message");
  await fleet.report("b", "1.0.0", { ...SICK, started_at: SINCE, health: undefined });
  t.match(await hosts(), { b: { state: "failed" } });
  t.match((await runHere([Fleet], ["fleet", target, "--no-tui", ...at])).stdout, /^b .* unhealthy .*since 2026-11-27/m);
}

async function halts(t: Test, hub: RunningHub): Promise<void> {
  const fleet = await operatedFleet(hub);
  await fleet.publish("1.0.0");
  for (const host of ["a", "b"]) {
    await fleet.latest(host);
    await fleet.report(host, "1.0.0");
  }
  const rules = { waves: ["100%"], ...QUICK, soak_seconds: 3600 };
  const { id } = (await fleet.start({ version: "2.0.0", ...rules })).body as { id: string };
  await fleet.publish("2.0.0");
  await fleet.report("b", "1.0.0", SICK);
  await fleet.report("a", "2.0.0");
  const counted = (done: number, failing: number) =>
    until(
      () => fleet.show(id),
      ({ waves: [first] }) => first?.done === done && first.failing === failing,
    );
  t.match(
    await counted(1, 0),
    { state: "running", waves: [{ hosts: 2, done: 1, failing: 0 }] },
    "of 1.0.0: no failure",
  );
  const before = (await fleet.latest("b")).body;
  await fleet.report("a", "2.0.0", SICK);
  const halted = await until(
    () => fleet.show(id),
    ({ state }) => state === "halted",
  );
  t.match(halted, { state: "halted", failing: [{ host_id: "a", error_message: /^unhealthy: apps\/web/ }] });
  t.match((await fleet.latest("a")).body, { version: "2.0.0" }, "a host's latest is what it was");
  t.match(before, { version: "2.0.0" });

  await fleet.act(id, "resume");
  t.match(await counted(0, 0), { state: "running" }, "a person has seen it");
  await fleet.report("a", "2.0.0", WELL);
  t.match(await counted(1, 0), { waves: [{ hosts: 2, done: 1, failing: 0 }] });
  await fleet.report("b", "2.0.0");
  t.match(await counted(2, 0), { waiting_for: "soak" });
}

const DEPLOYER = ["projects", "report", "read"];

/** On surface A a report that is sent again is stored again: a host still turns only once. */
async function repeats(t: Test, hub: RunningHub): Promise<void> {
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide table", kind: "plugin", slug: "tide" } });
  const receiver = await startReceiver(t);
  const json = { name: "bob", owner: "bob", scopes: DEPLOYER };
  const { key } = (await hub.call("POST", "/devkeys/api-keys", { json })).body as { key: string };
  await hub.call("POST", "/devkeys/webhooks", { key, json: { url: receiver.url } });
  const facts = { kind: "plugin", slug: "tide", version: "1.0.0", host_id: "edge", running_version: "1.0.0" };
  const send = (more: object) =>
    hub.call("POST", "/app/deployments/deployments/report", {
      key,
      json: { ...facts, started_at: SINCE, completed_at: SINCE, ...more },
    });
  for (const more of [{ status: "success" }, SICK, SICK, WELL, WELL]) t.equal((await send(more)).status, 201);
  await senderOf(hub.hub).idle();
  const types = receiver.received.map(({ body }) => (body as { type: string }).type);
  t.strictSame(types.toSorted(), ["host.healthy", "host.unhealthy"]);
}

for (const [title, work] of Object.entries({ "a fleet": tells, "a rollout": halts, "a plugin's fleet": repeats })) {
  t.test(`${title} knows which hosts are unhealthy, on SQLite`, async (t) => work(t, await startHub(t, LOCAL)));

  t.test(`${title} knows which hosts are unhealthy, on PostgreSQL`, async (t) => {
    const databaseUrl = await startPostgres(t);
    if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
    await work(t, await startHub(t, { ...LOCAL, databaseUrl }));
  });
}
