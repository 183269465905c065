import fc from "fast-check";
import t from "tap";
import type { RolloutState } from "../../../../lib/contract/surfaces/rollouts.ts";
import { answerTo, type Gate } from "../../../../lib/hub/rollouts/answer.ts";
import { decide, type Facts, type Rules, type Standing } from "../../../../lib/hub/rollouts/decide.ts";
import { FleetTally, type ReportedHost, SILENT_MS } from "../../../../lib/hub/rollouts/tally.ts";
import { waveOf, wavesOf } from "../../../../lib/hub/rollouts/waves.ts";
import { isOpenAt, parseWindow } from "../../../../lib/hub/rollouts/window.ts";

const HOUR = 3_600_000;
const NOW = Date.parse("2026-11-24T10:00:00Z");

const rules = (given: Partial<Rules> = {}): Rules => ({
  version: "2.0.0",
  waves: 3,
  soakMs: 1000,
  maxFailing: { value: 10, isShare: true },
  minDone: { value: 90, isShare: true },
  window: undefined,
  approve: false,
  ...given,
});
const standing = (given: Partial<Standing> = {}): Standing => ({
  state: "running",
  reason: null,
  open: 0,
  openedAt: null,
  soakingSince: null,
  approved: 0,
  waitingFor: null,
  until: null,
  endedAt: null,
  ...given,
});
/** @param waves hosts, done and failing of each */
const facts = (waves: [number, number, number][], given: Partial<Facts> = {}): Facts => ({
  now: NOW,
  version: "published",
  tally: { waves: waves.map(([hosts, done, failing]) => ({ hosts, done, failing })), failing: [] },
  ...given,
});
const FRESH: [number, number, number][] = [
  [10, 0, 0],
  [20, 0, 0],
  [70, 0, 0],
];
const FIRST_DONE: [number, number, number][] = [[10, 9, 1], ...FRESH.slice(1)];

t.test("a wave opens when the one before has soaked, a person has approved, and the window is open", (t) => {
  t.match(decide(rules(), standing(), facts(FRESH, { version: "unpublished" })), {
    open: 0,
    waitingFor: "publication",
  });
  const first = decide(rules(), standing(), facts(FRESH));
  t.match(first, { open: 1, openedAt: NOW, waitingFor: "hosts", soakingSince: null });
  t.match(decide(rules(), first, facts([[10, 8, 1], ...FRESH.slice(1)])), { open: 1, waitingFor: "hosts" });
  const soaking = decide(rules(), first, facts(FIRST_DONE));
  t.match(soaking, { open: 1, waitingFor: "soak", soakingSince: NOW, until: NOW + 1000 });
  t.match(decide(rules(), soaking, facts(FIRST_DONE, { now: NOW + 999 })), { open: 1, waitingFor: "soak" });
  const later = { now: NOW + 1000 };
  t.match(decide(rules(), soaking, facts(FIRST_DONE, later)), { open: 2, openedAt: NOW + 1000, soakingSince: null });
  t.match(
    decide(rules(), soaking, facts(FRESH, later)),
    { open: 1, soakingSince: null },
    "one that falls back soaks anew",
  );

  const approve = rules({ approve: true });
  t.match(decide(approve, soaking, facts(FIRST_DONE, later)), { open: 1, waitingFor: "approval", until: null });
  t.match(decide(approve, { ...soaking, approved: 2 }, facts(FIRST_DONE, later)), { open: 2 });
  const closed = rules({ window: parseWindow("Wed 09:00-10:00 UTC") });
  const opens = Date.parse("2026-11-25T09:00:00Z");
  t.match(decide(closed, soaking, facts(FIRST_DONE, later)), { open: 1, waitingFor: "window", until: opens });
  t.match(decide(closed, standing(), facts(FRESH)), { open: 0, waitingFor: "window", until: opens });
  t.match(decide(closed, soaking, facts(FIRST_DONE, { now: opens })), { open: 2 });
  const last = standing({ open: 3, soakingSince: NOW - 1000 });
  const done: [number, number, number][] = FRESH.map(([hosts]) => [hosts, hosts, 0]);
  t.match(decide(rules(), last, facts(done)), { state: "completed", endedAt: NOW });
  t.end();
});

t.test("a rollout halts for failures beyond its limit and for a version that is taken back, also while paused", (t) => {
  const open = standing({ open: 1, soakingSince: NOW });
  for (const state of ["running", "paused"] as const) {
    const before = { ...open, state };
    t.match(decide(rules(), before, facts([[10, 8, 2], ...FRESH.slice(1)])), { state: "halted", reason: /2 hosts/ });
    for (const version of ["yanked", "deleted"] as const)
      t.match(decide(rules(), before, facts(FRESH, { version })), { state: "halted", reason: new RegExp(version) });
  }
  t.match(decide(rules(), open, facts(FIRST_DONE)), { state: "running" }, "the limit itself is allowed");
  const three = rules({ maxFailing: { value: 3, isShare: false } });
  t.match(decide(three, open, facts([[10, 0, 3], ...FRESH.slice(1)])), { state: "running" });
  t.match(decide(three, open, facts([[10, 0, 3], [20, 0, 1], ...FRESH.slice(2)])), { state: "halted" });
  t.match(decide(rules(), { ...open, state: "paused" }, facts(FIRST_DONE, { now: NOW + HOUR })), {
    ...{ state: "paused", open: 1, soakingSince: null },
  });
  t.end();
});

const states = fc.constantFrom<RolloutState>("running", "paused", "halted", "completed", "aborted", "replaced");
const windows = fc.constantFrom(undefined, "Mon-Fri 09:00-16:00 Europe/Berlin", "Sat-Sun 22:00-04:00 America/New_York");
const anyRules = fc.record({
  waves: fc.integer({ min: 1, max: 5 }),
  soakMs: fc.nat(HOUR),
  maxFailing: fc.record({ value: fc.nat(20), isShare: fc.boolean() }),
  minDone: fc.record({ value: fc.nat(100), isShare: fc.boolean() }),
  window: windows.map((text) => (text === undefined ? undefined : parseWindow(text))),
  approve: fc.boolean(),
});
const anyCase = anyRules.chain((given) =>
  fc.record({
    rules: fc.constant(rules(given)),
    standing: fc.record({
      state: states,
      open: fc.nat(given.waves),
      soakingSince: fc.option(fc.integer({ min: NOW - 2 * HOUR, max: NOW + HOUR })),
      approved: fc.nat(given.waves),
    }),
    waves: fc.array(fc.tuple(fc.nat(50), fc.nat(50), fc.nat(3)), { minLength: given.waves, maxLength: given.waves }),
    now: fc.integer({ min: NOW, max: NOW + 14 * 24 * HOUR }),
    version: fc.constantFrom<Facts["version"]>("published", "unpublished", "yanked", "deleted"),
  }),
);

t.test("no wave opens early, out of turn or out of its hours, and what is halted opens only by a person", (t) => {
  fc.assert(
    fc.property(anyCase, (given) => {
      const before = standing(given.standing);
      const hosts = given.waves.map(([rest, done, failing]): [number, number, number] => [
        ...([rest + done + failing, done, failing] as const),
      ]);
      const after = decide(given.rules, before, facts(hosts, given));
      if (after.open === before.open) return before.state === "running" || after.state !== "running";
      const { window, soakMs, approve } = given.rules;
      const soaked = before.open === 0 || (before.soakingSince !== null && given.now - before.soakingSince >= soakMs);
      return (
        after.open === before.open + 1 &&
        before.state === "running" &&
        given.version === "published" &&
        (soaked || soakMs === 0) &&
        (before.open === 0 || !approve || before.approved > before.open) &&
        isOpenAt(window, given.now)
      );
    }),
    { numRuns: 500 },
  );
  t.end();
});

const host = (id: string, given: Partial<ReportedHost> = {}): ReportedHost => ({
  ...{ id, labels: {}, running: "1.0.0", tried: "1.0.0", hasFailed: false, error: null },
  ...{ reportedAt: NOW, heardAt: NOW, ...given },
});

t.test("hosts are chosen by their labels, else by a place that no list is needed for", (t) => {
  const waves = wavesOf(["env=canary", "10%", "env=late", "100%"]);
  const ids = Array.from({ length: 2000 }, (_, index) => `host-${index}`);
  const count = (wave: number, rollout: string) =>
    ids.filter((id) => waveOf(rollout, waves, { id, labels: {} }) === wave).length;
  t.ok(Math.abs(count(1, "rol_a") - 200) < 60 && count(0, "rol_a") + count(2, "rol_a") === 0);
  const chosen = (rollout: string) => ids.filter((id) => waveOf(rollout, waves, { id, labels: {} }) === 1);
  t.notSame(chosen("rol_a"), chosen("rol_b"), "not always the same hosts are the first");
  t.equal(waveOf("rol_a", waves, { id: ids[0], labels: { env: "late" } }), 2);
  t.equal(waveOf("rol_a", waves, { id: ids[0], labels: { env: "canary", other: "x" } }), 0);
  t.equal(
    waveOf("rol_a", waves, { id: undefined, labels: { env: "canary" } }),
    3,
    "without a name it is the last wave",
  );
  t.end();
});

t.test("each host counts once; what is silent for a day does not, nor a failure that a person has seen", (t) => {
  const rollout = { id: "rol_a", version: "2.0.0", waves: wavesOf(["100%"]), failuresSince: NOW - HOUR };
  const failed = { tried: "2.0.0", hasFailed: true, error: "port taken" };
  const fleet = new FleetTally(rollout);
  for (const each of [
    host("a", { running: "2.0.0", tried: "2.0.0" }),
    ...Array.from({ length: 100 }, () => host("b")),
    host("c", failed),
    host("d", { ...failed, reportedAt: NOW - HOUR }),
    host("e", { ...failed, tried: "1.9.0" }),
    host("f", { running: "2.0.0", heardAt: NOW - SILENT_MS - 1 }),
    host("g", { ...failed, heardAt: NOW - SILENT_MS - 1 }),
    host("h", { ...failed, running: "2.0.0" }),
  ])
    fleet.set(each);
  t.same(fleet.at(NOW), {
    waves: [{ hosts: 7, done: 2, failing: 2 }],
    failing: ["c", "g"].map((id) => ({ host_id: id, error_message: "port taken" })),
  });
  t.end();
});

const gate = (given: Partial<Gate> = {}): Gate => ({
  ...{ id: "rol_a", version: "2.0.0", base: "1.0.0", state: "running", waves: wavesOf(["env=canary", "30%", "100%"]) },
  ...{ open: 1, window: undefined, isWithdrawn: false, ...given },
});
const canary = { id: "a", labels: { env: "canary" }, runsIt: false };

t.test("a host hears of the version when its wave is open, and of its hours where they are not now", (t) => {
  t.same(answerTo(gate(), "2.0.0", canary, NOW), { version: "2.0.0" });
  t.same(answerTo(gate({ open: 0 }), "2.0.0", canary, NOW), { version: "1.0.0" });
  const nameless = { id: undefined, labels: {}, runsIt: false };
  t.same(answerTo(gate({ open: 2 }), "2.0.0", nameless, NOW), { version: "1.0.0" });
  t.same(answerTo(gate({ open: 3 }), "2.0.0", nameless, NOW), { version: "2.0.0" });
  const window = parseWindow("Tue 12:00-13:00 UTC");
  const next = { version: "2.0.0", notBefore: Date.parse("2026-11-24T12:00:00Z") };
  t.same(answerTo(gate({ window }), "2.0.0", canary, NOW), { version: "1.0.0", next });
  t.same(answerTo(gate({ window, open: 0 }), "2.0.0", canary, NOW), { version: "1.0.0", next }, "it may fetch ahead");
  t.same(answerTo(gate({ window, open: 0 }), "1.0.0", canary, NOW), { version: "1.0.0" }, "not what is unpublished");
  t.same(answerTo(gate({ window, open: 2 }), "2.0.0", nameless, NOW), { version: "1.0.0", next }, "the wave after it");
  t.same(answerTo(gate({ window }), "2.0.0", nameless, NOW), { version: "1.0.0" }, "no later wave");
  const isOpen = answerTo(gate({ window, open: 2 }), "2.0.0", nameless, next.notBefore + 1000);
  t.same(isOpen, { version: "1.0.0", next }, "and the same in the window, until its wave opens");
  for (const state of ["paused", "halted", "aborted"] as const) {
    t.same(answerTo(gate({ state }), "2.0.0", canary, NOW), { version: "1.0.0" }, state);
    t.same(answerTo(gate({ state }), "2.0.0", { ...canary, runsIt: true }, NOW), { version: "2.0.0" }, state);
    const back = answerTo(gate({ state, isWithdrawn: true }), "2.0.0", canary, NOW);
    t.same(back, { version: "1.0.0", withdrawn: "2.0.0" }, state);
  }
  t.same(answerTo(gate({ state: "aborted" }), "2.0.1", canary, NOW), { version: "2.0.1" }, "the fix goes to all");
  t.same(answerTo(gate(), "3.0.0", nameless, NOW), { version: "1.0.0" }, "no version goes past a rollout");
  t.end();
});

t.test("no more hosts hear of the version than open waves have, whatever they say of themselves", (t) => {
  const hostNames = fc.record({
    id: fc.option(fc.string({ minLength: 1, maxLength: 8 }), { nil: undefined }),
    labels: fc.dictionary(fc.constantFrom("env", "x"), fc.constantFrom("canary", "prod")),
  });
  const gates = fc.record({
    open: fc.nat(3),
    state: fc.constantFrom<Gate["state"]>("running", "paused", "halted", "aborted"),
    isWithdrawn: fc.boolean(),
    window: windows.map((text) => (text === undefined ? undefined : parseWindow(text))),
  });
  fc.assert(
    fc.property(
      gates,
      fc.array(hostNames),
      fc.integer({ min: NOW, max: NOW + 14 * 24 * HOUR }),
      (given, hosts, now) => {
        const rollout = gate(given);
        const got = hosts.filter(
          (name) => answerTo(rollout, "2.0.0", { ...name, runsIt: false }, now).version === "2.0.0",
        );
        const allowed = hosts.filter((name) => waveOf(rollout.id, rollout.waves, name) < rollout.open);
        if (given.state !== "running" || given.isWithdrawn || !isOpenAt(given.window, now)) return got.length === 0;
        return got.length === allowed.length;
      },
    ),
  );
  t.end();
});
