import t from "tap";
import { FleetCache } from "../../../lib/hub/fleets/fleet-cache.ts";
import type { PreparedStatements } from "../../../lib/hub/records/port.ts";

t.test("a result is read once for all readers, until hosts report, time passes or its period ends", async (t) => {
  const [view, other] = [
    { holder: "", target: "prj_a" },
    { holder: "", target: "prj_b" },
  ];
  let changes = 1;
  let hosts = 5;
  let reads = 0;
  const statements = { first: () => ({ changes, forgotten: 0 }) } as unknown as PreparedStatements;
  const cache = new FleetCache<number>(statements, {
    max: 10,
    keptMs: 1000,
    large: { hosts: 10, keptMs: 100 },
    period: (now) => String(Math.floor(now / 10_000)),
    read: () => Promise.resolve({ result: ++reads, hosts }),
  });
  t.same(await Promise.all([cache.of(view, 0), cache.of(view, 0)]), [1, 1], "readers at once share one read");
  t.equal(await cache.of(view, 999), 1);
  t.equal(await cache.of(other, 999), 2, "another fleet");
  t.equal(await cache.of(view, 1000), 3, "its time is up");
  changes++;
  t.equal(await cache.of(view, 1001), 4, "a host has reported");
  t.equal(await cache.of(view, 500), 4, "a clock that is set back a little");
  t.equal(await cache.of(view, 10_000), 5, "another period");
  hosts = 11;
  changes++;
  t.equal(await cache.of(view, 10_001), 6);
  changes++;
  t.equal(await cache.of(view, 10_100), 6, "a large fleet may lag");
  t.equal(await cache.of(view, 10_101), 7, "but not for long");
});

t.test("a read that fails is tried again by the next reader", async (t) => {
  const statements = { first: () => ({ changes: 1, forgotten: 0 }) } as unknown as PreparedStatements;
  let fails = true;
  const cache = new FleetCache<string>(statements, {
    ...{ max: 10, keptMs: 1000, large: { hosts: 10, keptMs: 100 } },
    read: () => (fails ? Promise.reject(new Error("locked")) : Promise.resolve({ result: "read", hosts: 1 })),
  });
  const view = { holder: "", target: "prj_a" };
  await t.rejects(cache.of(view, 0), /locked/);
  fails = false;
  t.equal(await cache.of(view, 0), "read");
});
