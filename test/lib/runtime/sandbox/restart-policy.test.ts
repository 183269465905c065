import t from "tap";
import { RestartPolicy } from "../../../../lib/runtime/sandbox/sandbox-seat.ts";

t.test("restarts come after pauses that double, and end when there are too many", (t) => {
  let now = 0;
  const policy = new RestartPolicy({ max_restarts: 3, restart_window_seconds: 60, backoff_ms: 100 }, () => now);
  t.same([policy.next(), policy.next(), policy.next(), policy.next()], [100, 200, 400, undefined]);
  now += 61_000;
  t.equal(policy.next(), 100);
  t.end();
});
