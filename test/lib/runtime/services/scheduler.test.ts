import t from "tap";
import { cronJob } from "../../../../lib/runtime/services/scheduler.ts";

t.test("a cron expression is due when all of its fields are", (t) => {
  const due = (expression: string, text: string): boolean => {
    const at = new Date(text);
    const next = cronJob(expression, () => undefined).nextRun(new Date(at.getTime() - 1));
    return next?.getTime() === at.getTime();
  };
  t.ok(due("* * * * *", "2026-03-01T10:30:00"));
  t.ok(due("*/15 8-18 * * 1-5", "2026-03-02T10:30:00"), "a Monday");
  t.notOk(due("*/15 8-18 * * 1-5", "2026-03-01T10:30:00"), "a Sunday");
  t.ok(due("0 0 * * 7", "2026-03-01T00:00:00"));
  t.ok(due("0 0 1,15 * 1", "2026-03-15T00:00:00"), "either day is enough when both are named");
  t.ok(due("5/20 * * * *", "2026-03-01T10:45:00"));
  for (const bad of ["", "* * * *", "60 * * * *", "a * * * *", "*/0 * * * *", "5-1 * * * *", "* * 0 * *"])
    t.throws(() => cronJob(bad, () => undefined), bad);
  t.throws(() => cronJob("0 0 30 2 *", () => undefined), { message: /30 2 \* names a day that never comes/ });
  t.ok(due("0 0 29 2 *", "2028-02-29T00:00:00"));
  t.end();
});
