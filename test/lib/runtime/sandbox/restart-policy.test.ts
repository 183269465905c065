import t from "tap";
import { RestartPolicy } from "../../../../lib/runtime/sandbox/restart-policy.ts";

t.test("restarts come after pauses that double, and end when there are too many", (t) => {
  let now = 0;
  const policy = new RestartPolicy({ max_restarts: 3, restart_window_seconds: 60, backoff_ms: 100 }, () => now);
  t.same([policy.next(), policy.next(), policy.next(), policy.next()], [100, 200, 400, undefined]);
  now += 61_000;
  t.equal(policy.next(), 100);
  t.end();
});

t.test("a loop that blocks for the first time costs no pause, and one that recovers costs nothing", (t) => {
  const limits = { max_restarts: 3, restart_window_seconds: 60, backoff_ms: 100 };
  const policy = new RestartPolicy(limits, () => 0);
  t.equal(policy.next("blocked"), 0);
  policy.forgive();
  t.same([policy.next("blocked"), policy.next("blocked"), policy.next("ended")], [0, 200, 400]);
  t.equal(policy.next("blocked"), undefined);
  t.end();
});

t.test("ends that callers caused grow the pause and are not the last", (t) => {
  const limits = { max_restarts: 1, restart_window_seconds: 60, backoff_ms: 100 };
  const policy = new RestartPolicy(limits, () => 0);
  t.same([policy.next("callers"), policy.next("callers"), policy.next("callers")], [100, 200, 400]);
  t.equal(policy.next(), 800);
  t.equal(policy.next("callers"), 1600);
  t.equal(policy.next(), undefined);
  t.end();
});
