// Holds: no rollout counts or waits for a host that is out of service (lib/hub/features/rollouts/tally.ts)
import { join } from "node:path";
import t, { type Test } from "tap";
import { Fleet } from "../../../../../commands/fleets/fleet.ts";
import { fleetBack, fleetOutOfService } from "../../../../../commands/fleets/fleet-service.ts";
import { type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { operatedFleet, until } from "../../../../support/hub/project-fleet.ts";
import { startReceiver } from "../../../../support/hub/receiver.ts";
import { QUICK } from "../../../../support/hub/rollouts.ts";
import { Visitor } from "../../../../support/hub/web.ts";
import { allowing, senderOf } from "../../../../support/hub/webhooks.ts";
import { runHere } from "../../../../support/programs/run-here.ts";

const OPTIONS = { ...allowing("127.0.0.0/8"), rateLimits: false } as const;

async function passesBy(t: Test, hub: RunningHub): Promise<void> {
  const receiver = await startReceiver(t);
  const events = ["host.out_of_service", "host.in_service"];
  await hub.call("POST", "/devkeys/webhooks", { json: { url: receiver.url, events } });
  const fleet = await operatedFleet(hub);
  await fleet.publish("1.0.0");
  for (const host of ["a", "b", "mended"]) await fleet.report(host, "1.0.0", { labels: { env: "prod" } });
  const target = `project:${fleet.project.id}`;
  const at = ["--hub-url", hub.url, "--api-key", hub.adminKey];
  const run = (...words: string[]) => runHere([Fleet, fleetOutOfService, fleetBack], ["fleet", ...words, ...at]);
  t.match(await run("out", target, "mended", "--reason", "a new disk"), {
    code: 0,
    stderr: /is out of service: a new/,
  });
  t.match(await run("out", target, "nobody", "--reason", "x"), { code: 1, stderr: /no such host/ });
  t.match(await run("out", target, "a"), { code: 2, stderr: /--reason/ });
  t.match((await run(target)).stdout, /^mended .*out of service: a new disk$/m);

  const { id } = (await fleet.start({ version: "2.0.0", waves: ["100%"], ...QUICK })).body as { id: string };
  await fleet.publish("2.0.0");
  t.equal(await fleet.told("mended", "1.0.0"), "2.0.0", "it goes on taking versions");
  t.comment("its failure halts nothing, and nobody waits for it");
  await fleet.report("mended", "2.0.0", { status: "failed", running_version: "1.0.0", error_message: "no disk" });
  await fleet.report("a", "2.0.0");
  const shown = await until(
    () => fleet.show(id),
    ({ waves }) => waves[0].done === 1,
  );
  t.match(shown, { state: "running", waves: [{ hosts: 2, done: 1, failing: 0 }], awaited_hosts: 1 });
  t.match((await run(target)).stdout, /^mended .*out of service: a new disk$/m, "a report leaves it so");
  await fleet.report("b", "2.0.0");
  t.match(
    await until(
      () => fleet.show(id),
      ({ state }) => state === "completed",
    ),
    { state: "completed" },
  );

  t.comment("no wave is chosen by a label that only such a host has");
  await fleet.report("mended", "2.0.0", { labels: { env: "canary" } });
  const labelled = { version: "3.0.0", waves: ["env=canary", "100%"], ...QUICK };
  t.match(await fleet.start(labelled), { status: 409, body: { code: "wave_empty" } });
  t.match(await run("back", target, "mended"), { code: 0 });
  t.match(await fleet.start(labelled), { status: 201 });
  await fleet.publish("3.0.0");
  await fleet.report("mended", "3.0.0", { status: "failed", running_version: "2.0.0", labels: { env: "canary" } });
  await receiver.until(2);
  await senderOf(hub.hub).idle();
  t.match(receiver.received[0]!.body, {
    type: "host.out_of_service",
    data: { target, host_id: "mended", reason: "a new disk", actor: "admin" },
  });
  t.match(receiver.received[1]!.body, { type: "host.in_service", data: { host_id: "mended" } });
}

t.test("a host out of service counts in no rollout, on SQLite", async (t) => passesBy(t, await startHub(t, OPTIONS)));

t.test("a host out of service counts in no rollout, on PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  await passesBy(t, await startHub(t, { ...OPTIONS, databaseUrl }));
});

t.test("a page takes a host out of service, with a reason, and back", async (t) => {
  const hub = await startHub(t, { dataDir: join(t.testdir(), "hub"), rateLimits: false });
  const fleet = await operatedFleet(hub);
  await fleet.publish("1.0.0");
  await fleet.report("pier-7", "1.0.0");
  const visitor = await new Visitor(hub.url).signIn(hub.adminKey);
  const page = `/projects/${fleet.project.id}/fleet/pier-7`;
  await visitor.submit(page, `${page}/service`, { out_of_service: "<b>new</b> disk" });
  t.match((await visitor.request(page)).html, /Out of service[^]*&lt;b&gt;new&lt;\/b&gt; disk/);
  t.match((await visitor.request(`/projects/${fleet.project.id}/fleet`)).html, /&lt;b&gt;new&lt;\/b&gt; disk/);
  await visitor.submit(page, `${page}/service`, {});
  t.notMatch((await visitor.request(page)).html, /new&lt;/);
});
