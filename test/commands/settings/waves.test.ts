// Holds: which hosts an apply hears first, and for which it waits (lib/fleet/carry-out.ts, lib/fleet/plan.ts)
import t, { type Test } from "tap";
import { settingsFleet, type SimulatedHost, termsOf } from "../../support/hub/settings-fleet.ts";

const ONE = "settings:\n  - apps: { web: { A: one } }\n";
const TWO = "settings:\n  - apps: { web: { A: two } }\n";

/** A fleet of hosts `pier-1`, `pier-2`, … that have settings. */
async function fleetOf(t: Test, count: number) {
  const fleet = await settingsFleet(t);
  const terms = termsOf(fleet.seed, { uses: count });
  const names = Array.from({ length: count }, (_, index) => `pier-${index + 1}`);
  for (const name of names) fleet.join(name, terms);
  fleet.write(ONE);
  t.match(await fleet.apply("--accept-new"), { code: 0 });
  fleet.hub.uploads.length = 0;
  const row = (name: string) => fleet.hub.rows.get(name)!;
  const host = (name: string) => fleet.hosts.get(name)!;
  /** Hosts by upload since the last question. */
  const sent = (): string[][] => fleet.hub.uploads.splice(0).map((all) => all.map((one) => one.host_id).toSorted());
  /** Has a host answer once the next apply has looked for it: after the list of all, and one of those it waits for. */
  const answerLate = (name: string, answers: SimulatedHost["answers"]): void => {
    const looks = (): number => fleet.hub.calls.filter((call) => call === "GET /settings").length;
    const before = looks();
    const timer = setInterval(() => {
      if (looks() < before + 2) return;
      clearInterval(timer);
      host(name).answers = answers;
      fleet.answer(host(name));
    }, 10);
    t.teardown(() => clearInterval(timer));
  };
  return { ...fleet, row, host, sent, answerLate };
}

t.test("after an interrupted apply no second host gets a value of which the first has not spoken", async (t) => {
  const { host, row, sent, write, apply, answer, answerLate } = await fleetOf(t, 3);
  row("pier-1").outcome_at = "2999-01-01T00:00:00.000Z";
  write(TWO);
  host("pier-1").answers = undefined;
  t.match(await apply("--wait 50ms"), { code: 75, stderr: /pier-1 did not say within/ });
  t.strictSame(sent(), [["pier-1"]]);
  const again = await apply("--wait 50ms");
  t.match(again, { code: 75, stderr: /Waiting for pier-1: .*\n[^]*2 hosts of later waves were left as they are/ });
  t.match(again.stderr, /--only HOST [^]*sealift settings remove pier-1[^]*sealift fleet out/);
  t.strictSame(sent(), [], "nobody else gets it");

  host("pier-1").answers = { state: "failed", code: "health_failed" };
  answer(host("pier-1"));
  t.match(await apply("--wait 50ms"), { code: 1, stderr: /✗ pier-1: number 3 failed/ }, "what failed is tried first");
  t.strictSame(sent(), [["pier-1"]]);

  host("pier-1").answers = undefined;
  t.match(await apply("--wait 50ms"), { code: 75 });
  answerLate("pier-1", { state: "applied", code: null });
  t.match(await apply("--wait 20s"), { code: 0, stderr: /Waiting for pier-1.*\n✓ pier-1: applied number 4\nUploaded/ });
  t.equal(sent().flat().length, 1 + 2);
});

t.test(
  "nobody waits for it where another host runs with the same, nor with --no-wait, --all-at-once, --only",
  async (t) => {
    for (const words of ["--no-wait", "--all-at-once", "--only pier-3"]) {
      const { host, row, sent, write, apply } = await fleetOf(t, 3);
      row("pier-1").outcome_at = "2999-01-01T00:00:00.000Z";
      write(TWO);
      host("pier-1").answers = undefined;
      t.match(await apply("--wait 50ms"), { code: 75 });
      sent();
      t.match(await apply(`${words} --wait 50ms`), { code: 0 }, words);
      t.equal(sent().length, 1);
    }
    const { host, row, join: joins, seed, sent, write, apply } = await fleetOf(t, 3);
    write(TWO);
    host("pier-3").answers = undefined;
    row("pier-3").outcome_at = "2000-01-01T00:00:00.000Z";
    t.match(await apply("--wait 50ms"), { code: 75 });
    joins("pier-4", termsOf(seed, { hosts: ["pier-4"] }));
    sent();
    const more = await apply("--wait 50ms");
    t.match(more, { code: 0, stderr: /✓ pier-4: applied number 1/ });
    t.notMatch(more.stderr, "Waiting for");
  },
);

t.test("one wave with all hosts ends when all are heard, and names those that are not", async (t) => {
  const { host, write, apply, answerLate } = await fleetOf(t, 4);
  write(TWO);
  host("pier-1").answers = { state: "failed", code: "health_failed" };
  host("pier-2").answers = undefined;
  host("pier-3").answers = undefined;
  const said = await apply("--all-at-once --wait 100ms");
  t.match(said, { code: 1, stderr: /pier-1 could not use .* pier-[23], pier-[23] have not said anything yet\./ });
  answerLate("pier-2", { state: "failed", code: "unhealthy" });
  host("pier-3").answers = { state: "applied", code: null };
  write(ONE);
  const heard = await apply("--all-at-once --wait 20s");
  t.match(heard, { code: 1, stderr: /✗ pier-2: number 3 failed: unhealthy/ }, "the failure of another cuts nobody off");
  t.match(heard.stderr, /So did pier-[12]\.\n/);
});

t.test("a host out of service comes last, and nobody waits for it", async (t) => {
  const { host, row, sent, write, apply } = await fleetOf(t, 3);
  host("pier-1").answers = { state: "failed", code: "health_failed" };
  write(TWO);
  row("pier-1").outcome_at = "2999-01-01T00:00:00.000Z";
  t.match(await apply(), { code: 1 });
  host("pier-1").answers = undefined;
  row("pier-1").out_of_service = "new disk";
  sent();
  const said = await apply("--wait 50ms");
  t.match(said, { code: 0, stderr: /^Not waiting for pier-1: out of service/ });
  const order = sent();
  t.strictSame([order.length, order.at(-1)], [3, ["pier-1"]], "although it failed last time");
});

t.test("nor does anybody wait for one that was taken out before it spoke", async (t) => {
  const { host, row, sent, write, apply } = await fleetOf(t, 3);
  host("pier-1").answers = undefined;
  row("pier-1").outcome_at = "2999-01-01T00:00:00.000Z";
  write(TWO);
  t.match(await apply("--wait 50ms"), { code: 75 });
  row("pier-1").out_of_service = "new disk";
  sent();
  t.match(await apply("--wait 50ms"), { code: 0 });
  t.strictSame(sent().flat().toSorted(), ["pier-2", "pier-3"], "it has them already");
});

t.test("a hub that says so of all hosts turns no wave off", async (t) => {
  const { hosts, hub, row, sent, write, apply } = await fleetOf(t, 3);
  for (const name of hub.rows.keys()) row(name).out_of_service = "says the hub";
  for (const each of hosts.values()) each.answers = { state: "failed", code: "health_failed" };
  write(TWO);
  t.match(await apply("--wait 50ms"), { code: 1, stderr: /2 hosts of later waves were left as they are/ });
  t.equal(sent().length, 1);
});

t.test("hosts that tried nothing are no first hosts the next time, for whatever reason", async (t) => {
  for (const code of ["no_version", "rights_held", "app_stopped"]) {
    const { host, row, sent, write, apply } = await fleetOf(t, 4);
    write(TWO);
    row("pier-4").outcome_at = "2999-01-01T00:00:00.000Z";
    host("pier-4").answers = { state: "applied", code: null, ignored: [{ name: "web", code }] };
    t.match(await apply(), { code: 0, stderr: new RegExp(`pier-4 has not tried its settings \\(${code}\\)`) });
    row("pier-4").outcome_at = "2999-01-01T00:00:00.000Z";
    sent();
    write(ONE);
    t.notMatch((await apply()).stderr, "has not tried");
    t.strictSame(sent().at(-1)!.includes("pier-4"), true, "it comes last");
  }
});

t.test("a fleet of one host that tries nothing has no other first host", async (t) => {
  const { host, sent, write, apply } = await fleetOf(t, 1);
  host("pier-1").answers = { state: "applied", code: null, ignored: [{ name: "web", code: "app_stopped" }] };
  write(TWO);
  const applied = await apply();
  t.match(applied, { code: 0, stderr: /✓ pier-1: applied number 2, without web \(app_stopped\)/ });
  t.notMatch(applied.stderr, "has not tried");
  t.strictSame(sent(), [["pier-1"]]);
});

t.test("numbers stay noted that a hub may have taken, and are free again where it has refused them", async (t) => {
  const { hub, lock, write, apply } = await fleetOf(t, 2);
  const pending = async () =>
    Object.values((await lock()).hosts).map((host) => ("pending" in host ? host.pending : undefined));
  write(TWO);
  hub.fails.push("POST /settings");
  t.match(await apply("--all-at-once"), { code: 75 });
  t.strictSame(await pending(), [2, 2], "an answer that was lost says nothing");
  hub.fails.length = 0;
  t.match(await apply(), { code: 0, stderr: /applied number 3/ });
  write(ONE);
  hub.beforeUpload = () => (hub.rows.get("pier-1")!.number = 9);
  t.match(await apply("--all-at-once"), { code: 1, stderr: /settings_conflict/ });
  t.strictSame(await pending(), [undefined, undefined]);
});
