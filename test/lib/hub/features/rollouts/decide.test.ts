// Holds: when a wave opens (lib/hub/features/rollouts/decide.ts)
import fc from "fast-check";
import t from "tap";
import type { RolloutState } from "../../../../../lib/contract/rollouts/records.ts";
import { decideRollout, type RolloutFacts, type Rules } from "../../../../../lib/hub/features/rollouts/decide.ts";
import { FIRST_STATUS, type RolloutStatus } from "../../../../../lib/hub/features/rollouts/records.ts";
import { FleetTally, type ReportedHost, SILENT_MS } from "../../../../../lib/hub/features/rollouts/tally.ts";
import { waveOf, wavesOf } from "../../../../../lib/hub/gate/waves.ts";
import { isOpenAt, parseWindow } from "../../../../../lib/hub/gate/window.ts";

const HOUR = 3_600_000;
const NOW = Date.parse("2026-11-24T10:00:00Z");

const rules = (given: Partial<Rules> = {}): Rules => ({
  version: "2.0.0",
  labelled: [false, false, false],
  soakMs: 1000,
  maxFailing: { value: 10, isShare: true },
  minDone: { value: 90, isShare: true },
  window: undefined,
  approve: false,
  ...given,
});
const standing = (given: Partial<RolloutStatus> = {}): RolloutStatus => ({
  ...FIRST_STATUS,
  ...given,
});
/** @param waves hosts, done and failing of each */
const facts = (waves: [number, number, number][], given: Partial<RolloutFacts> = {}): RolloutFacts => ({
  now: NOW,
  isPublished: true,
  tally: { waves: waves.map(([hosts, done, failing]) => ({ hosts, done, failing })) },
  ...given,
});
const FRESH: [number, number, number][] = [
  [10, 0, 0],
  [20, 0, 0],
  [70, 0, 0],
];
const FIRST_DONE: [number, number, number][] = [[10, 9, 1], ...FRESH.slice(1)];

t.test("a rollout whose first wave waits for its window halts, too", (t) => {
  const closed = rules({ window: parseWindow("Wed 09:00-10:00 UTC") });
  const oneFails = facts([[10, 0, 1], ...FRESH.slice(1)]);
  for (const state of ["running", "paused"] as const)
    t.match(decideRollout(closed, standing({ state }), oneFails), {
      ...{ state: "halted", open: 0 },
      reason: "2.0.0 failed on 1 host, before any wave was open.",
    });
  const one = { ...closed, maxFailing: { value: 1, isShare: false } };
  t.match(decideRollout(one, standing(), oneFails), { state: "running", waitingFor: "window" });
  t.match(
    decideRollout(closed, standing(), { ...oneFails, isPublished: false }),
    { state: "running", waitingFor: "publication" },
    "nobody has the version yet",
  );
  t.end();
});

t.test("a wave opens when the one before has soaked, a person has approved, and the window is open", (t) => {
  t.match(decideRollout(rules(), standing(), facts(FRESH, { isPublished: false })), {
    open: 0,
    waitingFor: "publication",
  });
  const first = decideRollout(rules(), standing(), facts(FRESH));
  t.match(first, { open: 1, openedAt: NOW, waitingFor: "hosts", soakingSince: null });
  t.match(decideRollout(rules(), first, facts([[10, 8, 1], ...FRESH.slice(1)])), { open: 1, waitingFor: "hosts" });
  const soaking = decideRollout(rules(), first, facts(FIRST_DONE));
  t.match(soaking, { open: 1, waitingFor: "soak", soakingSince: NOW, until: NOW + 1000 });
  t.match(decideRollout(rules(), soaking, facts(FIRST_DONE, { now: NOW + 999 })), { open: 1, waitingFor: "soak" });
  const later = { now: NOW + 1000 };
  t.match(decideRollout(rules(), soaking, facts(FIRST_DONE, later)), {
    open: 2,
    openedAt: NOW + 1000,
    soakingSince: null,
  });
  t.match(
    decideRollout(rules(), soaking, facts(FRESH, later)),
    { open: 1, soakingSince: null },
    "one that falls back soaks anew",
  );

  const approve = rules({ approve: true });
  t.match(decideRollout(approve, soaking, facts(FIRST_DONE, later)), { open: 1, waitingFor: "approval", until: null });
  t.match(decideRollout(approve, { ...soaking, approved: 2 }, facts(FIRST_DONE, later)), { open: 2 });
  const closed = rules({ window: parseWindow("Wed 09:00-10:00 UTC") });
  const opens = Date.parse("2026-11-25T09:00:00Z");
  t.match(decideRollout(closed, soaking, facts(FIRST_DONE, later)), { open: 1, waitingFor: "window", until: opens });
  t.match(decideRollout(closed, standing(), facts(FRESH)), { open: 0, waitingFor: "window", until: opens });
  t.match(decideRollout(closed, soaking, facts(FIRST_DONE, { now: opens })), { open: 2 });
  const last = standing({ open: 3, soakingSince: NOW - 1000 });
  const done: [number, number, number][] = FRESH.map(([hosts]) => [hosts, hosts, 0]);
  t.match(decideRollout(rules(), last, facts(done)), { state: "completed", endedAt: NOW });
  t.end();
});

t.test("a rollout halts for failures beyond its limit, also while paused", (t) => {
  const open = standing({ open: 1, soakingSince: NOW });
  for (const state of ["running", "paused"] as const) {
    const before = { ...open, state };
    t.match(decideRollout(rules(), before, facts([[10, 8, 2], ...FRESH.slice(1)])), {
      state: "halted",
      reason: /2 hosts/,
    });
  }
  t.match(decideRollout(rules(), open, facts(FIRST_DONE)), { state: "running" }, "the limit itself is allowed");
  const three = rules({ maxFailing: { value: 3, isShare: false } });
  t.match(decideRollout(three, open, facts([[10, 0, 3], ...FRESH.slice(1)])), { state: "running" });
  t.match(decideRollout(three, open, facts([[10, 0, 3], [20, 0, 1], ...FRESH.slice(2)])), { state: "halted" });
  t.match(decideRollout(rules(), { ...open, state: "paused" }, facts(FIRST_DONE, { now: NOW + HOUR })), {
    ...{ state: "paused", open: 1, soakingSince: null },
  });
  t.end();
});

t.test("shares are exact: 77 of 2,750 hosts are 2.8 %, and no more", (t) => {
  const open = standing({ open: 1 });
  const share = rules({ maxFailing: { value: 2.8, isShare: true }, labelled: [false] });
  t.match(decideRollout(share, open, facts([[2750, 0, 77]])), { state: "running" });
  t.match(decideRollout(share, open, facts([[2750, 0, 78]])), { state: "halted" });
  const enough = rules({ minDone: { value: 7, isShare: true }, labelled: [false, false] });
  t.match(
    decideRollout(
      enough,
      open,
      facts([
        [100, 7, 0],
        [0, 0, 0],
      ]),
    ),
    { waitingFor: "soak" },
  );
  t.end();
});

t.test("a wave that a label chooses passes only after a host of it ran the version, or a person said so", (t) => {
  const byLabel = rules({ labelled: [true, false, false], soakMs: 0 });
  const empty: [number, number, number][] = [
    [0, 0, 0],
    [5, 0, 0],
    [5, 0, 0],
  ];
  const waits = decideRollout(byLabel, standing({ open: 1 }), facts(empty));
  t.match(waits, { open: 1, waitingFor: "hosts", soakingSince: null });
  t.match(decideRollout(byLabel, { ...waits, approved: 2 }, facts(empty)), { open: 2 }, "a person may let it pass");
  t.match(decideRollout(byLabel, waits, facts([[1, 1, 0], ...empty.slice(1)])), { open: 2 });
  t.match(
    decideRollout(rules({ soakMs: 0 }), standing({ open: 1 }), facts(empty)),
    { open: 2 },
    "an empty share passes",
  );
  t.end();
});

t.test("nothing completes before a host ran the version, or a person said so", (t) => {
  const last = standing({ open: 1 });
  const one = rules({ labelled: [false], soakMs: 0 });
  t.match(decideRollout(one, last, facts([[0, 0, 0]])), { state: "running", waitingFor: "hosts" });
  t.match(decideRollout(one, { ...last, approved: 2 }, facts([[0, 0, 0]])), { state: "completed" });
  t.match(decideRollout(one, last, facts([[1, 1, 0]])), { state: "completed" });
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
    rules: fc.constant(rules({ ...given, labelled: Array.from({ length: given.waves }, () => false) })),
    standing: fc.record({
      state: states,
      open: fc.nat(given.waves),
      soakingSince: fc.option(fc.integer({ min: NOW - 2 * HOUR, max: NOW + HOUR })),
      approved: fc.nat(given.waves),
    }),
    waves: fc.array(fc.tuple(fc.nat(50), fc.nat(50), fc.nat(3)), { minLength: given.waves, maxLength: given.waves }),
    now: fc.integer({ min: NOW, max: NOW + 14 * 24 * HOUR }),
    isPublished: fc.boolean(),
  }),
);

t.test("no wave opens early, out of turn or out of its hours, and what is halted opens only by a person", (t) => {
  fc.assert(
    fc.property(anyCase, (given) => {
      const before = standing(given.standing);
      const hosts = given.waves.map(([rest, done, failing]): [number, number, number] => [
        ...([rest + done + failing, done, failing] as const),
      ]);
      const after = decideRollout(given.rules, before, facts(hosts, given));
      if (after.open === before.open) return before.state === "running" || after.state !== "running";
      const { window, soakMs, approve } = given.rules;
      const soaked = before.open === 0 || (before.soakingSince !== null && given.now - before.soakingSince >= soakMs);
      return (
        after.open === before.open + 1 &&
        before.state === "running" &&
        given.isPublished &&
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
  ...{ id, labels: {}, running: "1.0.0", tried: "1.0.0", hasFailed: false, isUnhealthy: false, error: null },
  waits: undefined,
  ...{ reportedAt: NOW, heardAt: NOW, firstChange: 1, isBound: false },
  ...{ isNamed: true, isOut: false, isByKit: false, ...given },
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

t.test("a host without network counts by the report that came back from it, and is never waited for", (t) => {
  const rollout = { id: "rol_a", version: "2.0.0", waves: wavesOf(["100%"]), failuresSince: 0, known: 9 };
  const fleet = new FleetTally({ ...rollout, onlyBound: false, kept: [] });
  const offline = { isByKit: true, isNamed: false, heardAt: NOW - 10 * SILENT_MS };
  fleet.set(host("waits", offline));
  fleet.set(host("runs it", { ...offline, running: "2.0.0" }));
  fleet.set(host("failed", { ...offline, tried: "2.0.0", hasFailed: true, error: "port taken" }));
  t.match(fleet.at(NOW, 1), { waves: [{ hosts: 2, done: 1, failing: 1 }], awaited: [], fresh: 0 });
  fleet.set(host("invented", { ...offline, firstChange: 99, running: "2.0.0" }));
  t.match(fleet.at(NOW, 1), { waves: [{ hosts: 2, done: 1, failing: 1 }], fresh: 1 }, "unless it is new");
  t.end();
});

t.test("a known host counts once; one that is silent, new or ahead does not, nor a failure that was seen", (t) => {
  const rollout = {
    id: "rol_a",
    version: "2.0.0",
    waves: wavesOf(["100%"]),
    failuresSince: NOW - HOUR,
    known: 9,
    onlyBound: false,
    kept: ["2.0.1"],
  };
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
    host("late", { firstChange: 10, running: "2.0.0" }),
    host("nameless", { isNamed: false, ...failed }),
    host("ahead", { running: "2.0.1" }),
    host("asked", { tried: "2.0.0", waits: "application" }),
    host("killed", { tried: "2.0.0", waits: "interrupted" }),
    host("asks of another", { tried: "1.9.0", waits: "application" }),
  ])
    fleet.set(each);
  t.same(fleet.at(NOW, 1), {
    waves: [{ hosts: 10, done: 2, failing: 2 }],
    failing: ["c", "g"].map((id) => ({
      ...{ host_id: id, error_message: "port taken", reported_at: new Date(NOW).toISOString() },
    })),
    waits: [
      { cause: "application", hosts: 1 },
      { cause: "interrupted", hosts: 1 },
    ],
    awaited: ["b", "d", "e", "asked", "killed", "asks of another"],
    fresh: 2,
    keeping: [{ version: "2.0.1", hosts: 1 }],
  });
  const bound = new FleetTally({ ...rollout, onlyBound: true });
  for (const each of [fleet, bound]) each.set(host("joined", { firstChange: 10, isBound: true, running: "2.0.0" }));
  bound.set(host("a", failed));
  t.match(fleet.at(NOW, 1), { waves: [{ hosts: 11, done: 3 }], fresh: 2 }, "a host with its own key may come later");
  t.match(
    bound.at(NOW, 1),
    { waves: [{ hosts: 1, done: 1, failing: 0 }], fresh: 1 },
    "and may be the only one that counts",
  );
  t.end();
});
