import t, { type Test } from "tap";
import { RolloutShow } from "../../../../../commands/rollouts/rollouts.ts";
import { RolloutWait } from "../../../../../commands/rollouts/wait.ts";
import type { AwaitedHost } from "../../../../../lib/contract/rollouts/records.ts";
import { type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { operatedFleet, until } from "../../../../support/hub/project-fleet.ts";
import { QUICK } from "../../../../support/hub/rollouts.ts";
import { Visitor } from "../../../../support/hub/web.ts";
import { runHere } from "../../../../support/programs/run-here.ts";

/** Silence of one host, within the life of a session. */
const SILENT_MS = 25 * 60_000;

async function names(t: Test, hub: RunningHub, clock: { now: number }): Promise<void> {
  const fleet = await operatedFleet(hub);
  await fleet.publish("1.0.0");
  for (const host of ["quiet", "back", "quick"]) await fleet.report(host, "1.0.0");
  const first = { labels: {}, status: "failed", running_version: null, error_message: "no" };
  await fleet.report("bare", "1.0.0", first);
  clock.now += SILENT_MS;
  await fleet.publish("2.0.0");
  await fleet.report("back", "2.0.0");
  await fleet.report("back", "1.0.0");
  await fleet.report("bare", "1.0.0", first);
  clock.now += 1000;
  const { id } = (await fleet.start({ version: "3.0.0", waves: ["100%"], ...QUICK })).body as { id: string };
  const before = await fleet.show(id);
  t.match(before, { waiting_for: "publication", awaited: [], awaited_hosts: 0 }, "nobody can have it yet");
  await fleet.publish("3.0.0");
  await fleet.report("back", "3.0.0");
  await fleet.report("back", "2.0.0", { running_version: "2.0.0" });
  await fleet.report("quick", "3.0.0");
  const shown = await until(
    () => fleet.show(id),
    ({ awaited_hosts: all, waves }) => all === 3 && waves[0].done === 1,
  );
  t.strictSame(
    (shown.awaited as AwaitedHost[]).map(({ host_id, running_version, has_installed }) => [
      host_id,
      running_version,
      has_installed,
    ]),
    [
      ["quiet", "1.0.0", false],
      ["bare", null, false],
      ["back", "2.0.0", true],
    ],
    "the longest silent first",
  );
  const [quiet, bare] = shown.awaited as AwaitedHost[];
  t.ok(quiet!.last_heard_at < bare!.last_heard_at);

  const at = ["--hub-url", hub.url, "--api-key", hub.adminKey];
  const target = `project:${fleet.project.id}`;
  const text = (await runHere([RolloutShow], ["rollout", "show", target, ...at])).stdout;
  t.match(text, /^… quiet: runs 1\.0\.0, has never installed 3\.0\.0, last heard of .* ago$/m);
  t.match(text, /^… bare: runs nothing, has never installed 3\.0\.0, /m);
  t.match(text, /^… back: runs 2\.0\.0, went back from 3\.0\.0, /m);
  const wait = ["rollout", "wait", target, "--timeout", "0", ...at];
  t.match(await runHere([RolloutWait], wait), { code: 75, stderr: /It waits for quiet \(last heard of .*\), bare \(/ });
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  const { html } = await admin.request(`/projects/${fleet.project.id}/rollouts`);
  t.match(html, /3 hosts that it waits for.*quiet.*runs 1\.0\.0, has never installed 3\.0\.0, last heard of <time/s);

  for (let host = 0; host < 30; host++) await fleet.report(`more-${host}`, "1.0.0");
  await fleet.act(id, "abort");
  t.match(await fleet.show(id), { state: "aborted", awaited: [], awaited_hosts: 0 });
  clock.now += 1000;
  const { id: second } = (await fleet.start({ version: "3.0.0", waves: ["100%"], ...QUICK })).body as { id: string };
  const many = await until(
    () => fleet.show(second),
    ({ awaited_hosts: all }) => all === 33,
  );
  t.equal(many.awaited.length, 20, "of many hosts the first are named");
  const shortened = (await runHere([RolloutShow], ["rollout", "show", target, ...at])).stdout;
  t.match(shortened, /^… and 13 more hosts$/m);
}

async function namesNobody(t: Test, hub: RunningHub): Promise<void> {
  const fleet = await operatedFleet(hub);
  await fleet.publish("1.0.0");
  await fleet.report("prod-1", "1.0.0", { labels: { env: "prod" } });
  const rules = { version: "2.0.0", waves: ["env=canary", "100%"], allow_empty_wave: true, ...QUICK };
  const { id } = (await fleet.start(rules)).body as { id: string };
  await fleet.publish("2.0.0");
  const shown = await until(
    () => fleet.show(id),
    ({ waiting_for: waiting }) => waiting === "hosts",
  );
  t.match(shown, { awaited: [], awaited_hosts: 0 }, "it waits for a host that nobody knows");
}

t.test("a rollout names the hosts that it waits for, on SQLite", async (t) => {
  const clock = { now: Date.now() - 3_600_000 };
  const hub = await startHub(t, { clock: () => clock.now, rateLimits: false });
  await namesNobody(t, hub);
  await names(t, hub, clock);
});

t.test("a rollout names the hosts that it waits for, on PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const clock = { now: Date.now() - 3_600_000 };
  const hub = await startHub(t, { databaseUrl, clock: () => clock.now, rateLimits: false });
  await namesNobody(t, hub);
  await names(t, hub, clock);
});
