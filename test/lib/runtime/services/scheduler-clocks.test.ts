// In a process of its own: it changes the zone of the process.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import t from "tap";
import { cronJob } from "../../../../lib/runtime/services/scheduler.ts";
import { needs } from "../../../support/programs/optional.ts";

const MODEL = fileURLToPath(new URL("../../../support/programs/cron_model.py", import.meta.url));
const HOUR_S = 3600;

/** The moments from `start` to `end` at which a job is due in a zone, in seconds since 1970. */
function dueIn(zone: string, expression: string, start: number, end: number): number[] {
  process.env.TZ = zone;
  const job = cronJob(expression, () => undefined);
  const found: number[] = [];
  let at = start;
  while ((at = job.nextRun(new Date(at * 1000))!.getTime() / 1000) <= end) found.push(at);
  return found;
}

t.test("named times run once when clocks change, those with a wildcard whenever the clock shows them", (t) => {
  const { TZ } = process.env;
  t.teardown(() => (TZ === undefined ? delete process.env.TZ : (process.env.TZ = TZ)));
  const times = (day: string, expression: string): string[] => {
    const start = Date.parse(`${day}T00:00:00+01:00`) / 1000 - 1;
    const day_s = 26 * HOUR_S;
    return dueIn("Europe/Berlin", expression, start, start + day_s)
      .map((at) => new Date(at * 1000).toISOString())
      .filter((text) => text >= `${day}T00:00` && text <= `${day}T02:59`)
      .map((text) => text.slice(11, 16));
  };
  // Summer time begins at 01:00 and ends at 01:00 UTC.
  const [spring, autumn] = ["2026-03-29", "2026-10-25"];
  t.same(times(spring, "30 2 * * *"), ["01:00"], "at the end of the gap");
  t.same(times(spring, "15,45 2 * * *"), ["01:00"], "once for all in the gap");
  t.same(times(spring, "30 * * * *"), ["00:30", "01:30", "02:30"], "elapsed time goes on");
  t.same(times(autumn, "30 2 * * *"), ["00:30"]);
  t.same(times(autumn, "0,30 2 * * *"), ["00:00", "00:30"], "not again in the hour that repeats");
  t.same(times(autumn, "30 * * * *"), ["00:30", "01:30", "02:30"]);
  t.same(times(autumn, "*/30 2 * * *"), ["00:00", "00:30", "01:00", "01:30"]);
  t.end();
});

interface Change {
  zone: string;
  start: number;
  end: number;
  /** Minutes that the zone is ahead of UTC, from hour to hour. */
  offsets: number[];
  due: Record<string, number[]>;
}

t.test("a model in Python agrees at the changes of all zones", { skip: needs("python3") }, (t) => {
  const { TZ } = process.env;
  t.teardown(() => (TZ === undefined ? delete process.env.TZ : (process.env.TZ = TZ)));
  const expressions = [
    ...["30 2 * * *", "0,30 2 * * *", "15,45 1 * * *", "59 23 * * *", "0 0 * * *", "20 0,1,2,3 * * *", "10 1-3 * * *"],
    ...["30 * * * *", "*/15 2 * * *", "5-50/15 * * * *", "0 */2 * * *", "7 0-23/3 * * *"],
  ];
  const printed = execFileSync("python3", ["-B", MODEL, "2026", ...expressions], {
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  let compared = 0;
  for (const line of printed.trimEnd().split("\n")) {
    const { zone, start, end, offsets, due } = JSON.parse(line) as Change;
    process.env.TZ = zone;
    const own = offsets.map((_, hour) => -new Date((start + hour * HOUR_S) * 1000).getTimezoneOffset());
    // Another edition of the time zone database.
    if (own.join() !== offsets.join()) continue;
    for (const expression of expressions) {
      t.same(dueIn(zone, expression, start, end), due[expression], `${expression} in ${zone}`);
      compared++;
    }
  }
  t.ok(compared > 200, `${compared} compared`);
  t.end();
});
