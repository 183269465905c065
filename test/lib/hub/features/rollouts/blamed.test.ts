// Holds: which failures blame a version (lib/contract/blame.ts)
// Holds: when a wave of a rollout opens (lib/hub/features/rollouts/decide.ts)
import t, { type Test } from "tap";
import { Fleet } from "../../../../../commands/fleets/fleet.ts";
import { RolloutShow } from "../../../../../commands/rollouts/rollouts.ts";
import { CUT_SHORT, HELD_APPLICATION, INTERRUPTED } from "../../../../../lib/contract/blame.ts";
import { type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { operatedFleet, until } from "../../../../support/hub/project-fleet.ts";
import { startReceiver } from "../../../../support/hub/receiver.ts";
import { QUICK } from "../../../../support/hub/rollouts.ts";
import { Visitor } from "../../../../support/hub/web.ts";
import { senderOf } from "../../../../support/hub/webhooks.ts";
import { runHere } from "../../../../support/programs/run-here.ts";

const failed = (error_message: string, code?: string, running_version: string | null = "1.0.0") => ({
  ...{ status: "failed", error_message, running_version, ...(code !== undefined && { code }) },
});

/** Window that is closed whenever a test runs. */
function closedWindow(): string {
  const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
  return `${days[(new Date().getUTCDay() + 3) % 7]} 01:00-02:00 UTC`;
}

async function waits(t: Test, hub: RunningHub): Promise<void> {
  const receiver = await startReceiver(t);
  const events = ["host.failed", "host.waiting", "rollout.halted"];
  await hub.call("POST", "/devkeys/webhooks", { json: { url: receiver.url, events } });
  const fleet = await operatedFleet(hub);
  await fleet.publish("1.0.0");
  for (const host of ["asks", "ended", "killed", "full", "sick", "bad"]) await fleet.report(host, "1.0.0");
  const { id } = (await fleet.start({ version: "2.0.0", waves: ["100%"], ...QUICK })).body as { id: string };
  await fleet.publish("2.0.0");
  await fleet.report("asks", "2.0.0", failed(`${HELD_APPLICATION}The application web is not allowed to run.`));
  await fleet.report("ended", "2.0.0", failed(INTERRUPTED));
  await fleet.report("killed", "2.0.0", { ...failed(CUT_SHORT), rolled_back: true });
  await fleet.report("full", "2.0.0", failed("The disk says no.", "disk_full"));
  const unhealthy = { state: "unhealthy", since: "2026-11-29T10:00:00.000Z" };
  await fleet.report("sick", "2.0.0", { ...failed(INTERRUPTED, "interrupted"), health: unhealthy });
  const shown = await until(
    () => fleet.show(id),
    ({ waits: found }) => found.length === 3 && found[1].hosts === 3,
  );
  t.match(shown, { state: "running", halt: null, awaited_hosts: 6, waves: [{ hosts: 6, failing: 0 }] });
  t.strictSame(shown.waits, [
    { cause: "application", hosts: 1 },
    { cause: "interrupted", hosts: 3 },
    { cause: "host", hosts: 1 },
  ]);
  const full = (shown.awaited as { host_id: string }[]).find(({ host_id: host }) => host === "full");
  t.match(full, { waits: "host", error_message: "The disk says no." });

  const at = ["--hub-url", hub.url, "--api-key", hub.adminKey];
  const target = `project:${fleet.project.id}`;
  const show = () => runHere([RolloutShow], ["rollout", "show", target, ...at]);
  const text = (await show()).stdout;
  t.match(text, /^project:Demo 1\.0\.0 → 2\.0\.0 {2}rol_/);
  t.match(text, "… 1 waiting until an application is allowed, 3 interrupted, 1 waiting for the host");
  t.match(text, /^… full: waits: The disk says no\.$/m);
  const listed = (await runHere([Fleet], ["fleet", target, ...at])).stdout;
  t.match(listed, /^ended .* interrupted .* 2\.0\.0 was interrupted: Interrupted by a signal\.$/m);
  t.match(listed, /^full .* waits .* 2\.0\.0 waits: The disk says no\.$/m);
  t.match(listed, /^sick .* unhealthy/m);
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  t.match((await admin.request(`/projects/${fleet.project.id}/fleet`)).html, /1 failing<.*4 waiting</s);
  t.match((await admin.request(`/projects/${fleet.project.id}/rollouts`)).html, "3 hosts interrupted.");

  await fleet.report("bad", "2.0.0", failed("apps/web: it ended with 1.", "unhealthy"));
  const halted = await until(
    () => fleet.show(id),
    ({ state }) => state === "halted",
  );
  t.match(halted, { reason: "2.0.0 failed on 1 host, with 6 in open waves." });
  const named = { failing: 1, hosts: [{ host_id: "bad", error_message: "apps/web: it ended with 1." }] };
  t.match(halted.halt, named);
  await fleet.report("bad", "1.0.0", { ...failed("unhealthy: apps/web answers 500.", "unhealthy"), health: unhealthy });
  const later = await until(
    () => fleet.show(id),
    ({ failing }) => failing.length === 0,
  );
  t.match(later, { failing: [], halt: named }, "a later report does not change what halted it");
  t.match((await show()).stdout, /^halted at .* by 1 host:\n✗ bad: apps\/web: it ended with 1\.$/m);
  t.match(
    (await admin.request(`/projects/${fleet.project.id}/rollouts`)).html,
    /1 host halted it at .*ended with 1\./s,
  );
  await fleet.act(id, "resume");
  t.match(await fleet.show(id), { state: "running", halt: null });

  const heard = await until(
    async () => {
      await senderOf(hub.hub).idle();
      return receiver.received.map(({ body }) => body as { type: string; data: Record<string, string> });
    },
    (found) => found.length === 4,
  );
  t.strictSame(heard.map(({ type, data }) => [type, data["host_id"], data["cause"]]).toSorted(), [
    ["host.failed", "bad", undefined],
    ["host.waiting", "asks", "application"],
    ["host.waiting", "full", "host"],
    ["rollout.halted", undefined, undefined],
  ]);
}

async function halts(t: Test, hub: RunningHub): Promise<void> {
  const fleet = await operatedFleet(hub);
  await fleet.publish("1.0.0");
  await fleet.report("a", "1.0.0");
  const rules = { version: "2.0.0", waves: ["100%"], ...QUICK, window: closedWindow() };
  const { id } = (await fleet.start(rules)).body as { id: string };
  await fleet.publish("2.0.0");
  t.match(
    await until(
      () => fleet.show(id),
      ({ waiting_for: waiting }) => waiting === "window",
    ),
    { open: 0 },
  );
  await fleet.report("a", "2.0.0", failed("by hand", "unhealthy"));
  const halted = await until(
    () => fleet.show(id),
    ({ state }) => state === "halted",
  );
  t.match(halted, {
    state: "halted",
    open: 0,
    reason: /before any wave was open/,
    halt: { hosts: [{ host_id: "a" }] },
  });
}

for (const [name, databaseOf] of [
  ["SQLite", async () => ({})],
  [
    "PostgreSQL",
    async (t: Test) => {
      const databaseUrl = await startPostgres(t);
      return databaseUrl === undefined ? undefined : { databaseUrl };
    },
  ],
] as const) {
  t.test(`what blames no version halts no rollout, and a halt keeps its hosts, on ${name}`, async (t) => {
    const database = await databaseOf(t);
    if (database === undefined) return void t.plan(0, "PostgreSQL is not installed");
    const hub = await startHub(t, { ...database, rateLimits: false, webhookAllow: ["127.0.0.0/8"] });
    await waits(t, hub);
    await halts(t, hub);
  });
}
