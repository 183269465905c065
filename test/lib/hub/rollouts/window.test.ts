import t from "tap";
import { faultOfWaves } from "../../../../lib/contract/rollout-terms.ts";
import { isOpenAt, nextOpening, parseWindow } from "../../../../lib/hub/rollouts/window.ts";

const at = (text: string) => Date.parse(text);

t.test("a window is open in its hours of its days, in its zone, also over midnight and weekends", (t) => {
  const office = parseWindow("Mon-Thu 09:00-16:00 Europe/Berlin");
  t.notOk(isOpenAt(office, at("2026-11-24T07:59:59Z")));
  t.ok(isOpenAt(office, at("2026-11-24T08:00:00Z")));
  t.notOk(isOpenAt(office, at("2026-11-24T15:00:00Z")));
  t.equal(nextOpening(office, at("2026-11-26T16:00:00Z")).from, at("2026-11-30T08:00:00Z"), "from Thursday to Monday");
  const night = parseWindow("Fri-Mon 22:00-04:00 America/New_York");
  t.ok(isOpenAt(night, at("2026-11-24T08:59:00Z")), "Monday's night lasts into Tuesday");
  t.notOk(isOpenAt(night, at("2026-11-24T09:00:00Z")));
  t.notOk(isOpenAt(night, at("2026-11-25T05:00:00Z")));
  t.ok(isOpenAt(parseWindow("Tue 00:00-24:00 UTC"), at("2026-11-24T23:59:59Z")));
  t.ok(isOpenAt(undefined, 0));
  t.end();
});

t.test("clock changes move a window with its zone, and one that they skip opens a week later", (t) => {
  const daily = parseWindow("Mon-Sun 02:10-02:50 Europe/Berlin");
  // On 29 March 2026 clocks go from 02:00 to 03:00, on 25 October from 03:00 to 02:00.
  t.equal(nextOpening(daily, at("2026-03-28T12:00:00Z")).from, at("2026-03-29T01:10:00Z"), "moved behind the gap");
  t.equal(nextOpening(daily, at("2026-03-29T12:00:00Z")).from, at("2026-03-30T00:10:00Z"));
  t.equal(nextOpening(daily, at("2026-10-24T12:00:00Z")).from, at("2026-10-25T00:10:00Z"), "the first of two");
  const long = nextOpening(parseWindow("Sun 00:00-06:00 Europe/Berlin"), at("2026-10-24T23:00:00Z"));
  t.equal(long.to - long.from, 7 * 3_600_000, "six hours by the clock are seven that day");
  const skipped = parseWindow("Sun 02:50-03:10 Europe/Berlin");
  t.equal(nextOpening(skipped, at("2026-03-28T12:00:00Z")).from, at("2026-04-05T00:50:00Z"));
  t.end();
});

t.test("windows that never open, unknown days, hours and zones, and waves that do not rise are refused", (t) => {
  for (const [text, message] of [
    ["Mon 09:00-09:00 UTC", /never opens/],
    ["Mon 24:00-09:00 UTC", /never opens/],
    ["Mon 09:00-16:00 Europe/Atlantis", /time zone/],
    ["Moon 09:00-16:00 UTC", /no day/],
    ["Mon-Tue-Wed 09:00-16:00 UTC", /range of days/],
    ["Mon 9-16 UTC", /no time/],
    ["Mon 09:60-16:00 UTC", /no time/],
    ["Mon 09:00 UTC", /two times/],
    ["always", /days, hours and a time zone/],
  ] as const)
    t.throws(() => parseWindow(text), { message }, text);
  for (const [waves, fault] of [
    [[], /1 to 20/],
    [["10%", "50%"], /last one is 50%/],
    [["10%", "10%", "100%"], /rise/],
    [["50%", "10%", "100%"], /rise/],
    [["0%", "100%"], /rise/],
    [["10%", "101%"], /rise/],
    [["env=a"], /last one is 0%/],
    [["env", "100%"], /neither/],
    [["env=a", "env=a", "100%"], /twice/],
  ] as const)
    t.match(faultOfWaves(waves), fault, waves.join());
  t.equal(faultOfWaves(["env=canary", "0.5%", "100%", "env=last"]), undefined);
  t.end();
});
