// Holds: when a release on a host is unhealthy, and when that is told (lib/agent/health/standing.ts)
import t from "tap";
import { afterLook, standingOf, tellIn, type UnitHealth } from "../../../../lib/agent/health/standing.ts";

const at = (second: number): string => new Date(Date.UTC(2026, 10, 27, 12, 0, second)).toISOString();

/** Looks at a unit in turn: what is wrong each time, or the number of its restarts. */
function looks(...found: (string | number)[]): UnitHealth {
  let unit: UnitHealth | undefined;
  for (const [second, each] of found.entries()) {
    const sample = typeof each === "number" ? { restarts: each } : { fault: each, restarts: unit?.restarts ?? 0 };
    unit = afterLook(unit, sample, at(second));
  }
  return unit!;
}

t.test("three misses in a row are unhealthy since the first, and one answer is healthy", (t) => {
  t.match(looks(0, "a", "b"), { misses: 2, fault: undefined });
  t.match(looks(0, "a", "b", 0, "c", "d"), { misses: 2, fault: undefined }, "not in a row");
  t.match(looks(0, "a", "b", "c"), { fault: "c", since: at(1) });
  t.match(looks(0, "a", "b", "c", 0), { misses: 0, fault: undefined });
  t.match(looks(0, 1, 2, 3), { fault: /restarted since/, since: at(1) }, "a loop of restarts that always runs");
  t.match(looks(0, 1, 1), { misses: 0 }, "one restart is none");
  t.match(looks(5, 0), { misses: 0 }, "a unit that somebody started anew counts from nothing");
  t.end();
});

t.test("a unit that was unhealthy stays so until it answers, also for a watch that has just started", (t) => {
  t.match(looks(0, "a", "b", "c", "d"), { fault: "d", since: at(1) });
  // What an earlier watch has left of it.
  const found: UnitHealth = { misses: 0, since: at(0), restarts: Number.MAX_SAFE_INTEGER, fault: "a" };
  t.match(afterLook(found, { fault: "b", restarts: 0 }, at(9)), { misses: 1, fault: "b" }, "one miss is enough");
  t.match(afterLook(found, { restarts: 0 }, at(9)), { misses: 0, fault: undefined });
  t.end();
});

t.test("a release is unhealthy while a unit is, since the first of them", (t) => {
  const well = looks(0);
  const [first, second] = [looks(0, "a", "b", "c"), looks(0, 0, "x", "y", "z")];
  const one = standingOf("r1", new Map([["apps/web", first], ["apps/api", well]]), undefined, at(9)); // prettier-ignore
  t.match(one, { state: "unhealthy", since: at(1), units: { "apps/web": "c" } });
  const both = standingOf("r1", new Map([["apps/web", first], ["apps/api", second]]), one, at(10)); // prettier-ignore
  t.match(both, { state: "unhealthy", since: at(1), units: { "apps/web": "c", "apps/api": "z" } });
  const other = standingOf("r1", new Map([["apps/web", well], ["apps/api", second]]), both, at(11)); // prettier-ignore
  t.match(other, { state: "unhealthy", since: at(1), units: { "apps/api": "z" } });
  t.match(standingOf("r1", new Map([["apps/web", well]]), other, at(12)), { state: "healthy", since: at(12) });
  t.end();
});

t.test("illness is told at once and then after the quiet time, a repair soon, whatever the clock does", (t) => {
  const told = (state: "healthy" | "unhealthy", second: number) => ({ state, at: at(second), report: "r" });
  const now = Date.parse(at(30));
  const tell = (state: "healthy" | "unhealthy", since: number, before?: ReturnType<typeof told>, later = 0) =>
    tellIn({ state, since: at(since), ...(before && { told: before }) }, now + later, 300_000);
  t.equal(tell("healthy", 0), undefined, "a deployment has said so");
  t.equal(tell("unhealthy", 30), 0);
  t.equal(tell("unhealthy", 0, told("unhealthy", 0)), undefined);
  t.equal(tell("healthy", 30, told("unhealthy", 0)), 30_000, "a repair is told when it has held for half a minute");
  t.equal(tell("healthy", 0, told("unhealthy", 0)), 0);
  t.equal(tell("unhealthy", 30, told("healthy", 0)), 270_000, "one that falls ill again waits");
  t.equal(tell("unhealthy", 30, told("healthy", 0), 270_000), 0);
  t.equal(tell("healthy", 59, told("unhealthy", 0)), 0, "the clock was set back");
  t.equal(tell("unhealthy", 30, told("healthy", 59)), 0);
  t.end();
});
