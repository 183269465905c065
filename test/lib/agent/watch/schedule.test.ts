import fc from "fast-check";
import t from "tap";
import { nextDelay } from "../../../../lib/agent/watch/schedule.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const interval = fc.integer({ min: 1, max: 20 * DAY });
const failures = fc.integer({ min: 1, max: 10_000 });
const random = fc.double({ min: 0, max: 1, noNaN: true });
const retryAfter = fc.option(fc.integer({ min: 0, max: 40 * DAY }), { nil: undefined });
const longest = (intervalMs: number): number => Math.max(intervalMs, 15 * MINUTE);

t.test("while all is well checks come after the interval, give or take a tenth, whatever was asked before", (t) => {
  fc.assert(
    fc.property(interval, random, retryAfter, (intervalMs, chance, retryAfterMs) => {
      const delay = nextDelay({ intervalMs, failures: 0, retryAfterMs }, chance);
      return delay >= Math.floor(intervalMs * 0.9) && delay <= Math.ceil(intervalMs * 1.1);
    }),
  );
  t.equal(nextDelay({ intervalMs: MINUTE, failures: 0 }, 0), 0.9 * MINUTE);
  t.equal(nextDelay({ intervalMs: MINUTE, failures: 0 }, 0.5), MINUTE);
  t.equal(nextDelay({ intervalMs: MINUTE, failures: 0 }, 1), 1.1 * MINUTE);
  t.end();
});

t.test("a host asks soon after a window opens, and no sooner than usual while its hub fails", (t) => {
  const window = fc.integer({ min: -DAY, max: DAY });
  fc.assert(
    fc.property(interval, random, window, (intervalMs, chance, dueInMs) => {
      const usual = nextDelay({ intervalMs, failures: 0 }, chance);
      const delay = nextDelay({ intervalMs, failures: 0, dueInMs }, chance);
      return delay === Math.min(usual, Math.round(Math.max(dueInMs, 0) + 1000 * (1 + chance)));
    }),
  );
  fc.assert(
    fc.property(interval, failures, random, retryAfter, window, (intervalMs, count, chance, retryAfterMs, dueInMs) => {
      const rhythm = { intervalMs, failures: count, retryAfterMs };
      return nextDelay({ ...rhythm, dueInMs }, chance) === nextDelay(rhythm, chance);
    }),
  );
  t.end();
});

t.test("after failures pauses grow, but not beyond a quarter of an hour or the interval", (t) => {
  fc.assert(
    fc.property(interval, failures, random, (intervalMs, count, chance) => {
      const delay = nextDelay({ intervalMs, failures: count }, chance);
      const next = nextDelay({ intervalMs, failures: count + 1 }, chance);
      return delay <= next && next <= longest(intervalMs);
    }),
  );
  const worst = [1, 2, 3, 4, 5].map((count) => nextDelay({ intervalMs: MINUTE, failures: count }, 1) / MINUTE);
  t.same(worst, [2, 4, 8, 15, 15]);
  const best = [1, 2, 3, 4, 5].map((count) => nextDelay({ intervalMs: MINUTE, failures: count }, 0) / MINUTE);
  t.same(
    best,
    [1, 2, 4, 7.5, 7.5],
    "a random half is waited at least: hosts that failed together come back one by one",
  );
  t.end();
});

t.test("a failing hub is never asked sooner than one that is well", (t) => {
  fc.assert(
    fc.property(interval, failures, random, (intervalMs, count, chance) => {
      return nextDelay({ intervalMs, failures: count }, chance) >= nextDelay({ intervalMs, failures: 0 }, 0);
    }),
  );
  t.end();
});

t.test("what the hub asks for is waited, up to the longest pause", (t) => {
  fc.assert(
    fc.property(
      interval,
      failures,
      random,
      fc.integer({ min: 0, max: 40 * DAY }),
      (intervalMs, count, chance, asked) => {
        const delay = nextDelay({ intervalMs, failures: count, retryAfterMs: asked }, chance);
        return delay >= Math.min(asked, longest(intervalMs)) && delay <= longest(intervalMs);
      },
    ),
  );
  t.equal(nextDelay({ intervalMs: MINUTE, failures: 1, retryAfterMs: 10 * MINUTE }, 0), 10 * MINUTE);
  t.equal(nextDelay({ intervalMs: MINUTE, failures: 1, retryAfterMs: DAY }, 0), 15 * MINUTE);
  t.end();
});

t.test("no pause is longer than a timer can wait", (t) => {
  const intervalMs = 90 * DAY;
  for (const count of [0, 1, 50]) t.equal(nextDelay({ intervalMs, failures: count }, 1), 2 ** 31 - 1);
  t.end();
});
