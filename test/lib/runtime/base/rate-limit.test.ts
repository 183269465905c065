import t from "tap";
import { RateLimit } from "../../../../lib/runtime/base/rate-limit.ts";

t.test("a rate limit gives its calls at once, then evenly", (t) => {
  let now = 0;
  const limit = new RateLimit({ calls: 2, period_seconds: 10 }, () => now);
  t.same([limit.take(), limit.take(), limit.take()], [0, 0, 5]);
  now += 5000;
  t.same([limit.take(), limit.take()], [0, 5]);
  now += 1e9;
  t.same([limit.take(), limit.take(), limit.take() > 0], [0, 0, true]);
  t.end();
});
