import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { IANAZone } from "luxon";
import t from "tap";
import { faultOfWaves } from "../../../../lib/contract/rollout-terms.ts";
import { isOpenAt, nextOpening, parseWindow } from "../../../../lib/hub/gate/window.ts";
import { rounds } from "../../../support/effort.ts";
import { needs } from "../../../support/programs/optional.ts";

const at = (text: string) => Date.parse(text);

t.test("a window is open in its hours of its days, in its zone, also over midnight and weekends", (t) => {
  const office = parseWindow("Mon-Thu 09:00-16:00 Europe/Berlin");
  t.notOk(isOpenAt(office, at("2026-11-24T07:59:59Z")));
  t.ok(isOpenAt(office, at("2026-11-24T08:00:00Z")));
  t.notOk(isOpenAt(office, at("2026-11-24T15:00:00Z")));
  t.equal(nextOpening(office, at("2026-11-26T16:00:00Z")), at("2026-11-30T08:00:00Z"), "from Thursday to Monday");
  const night = parseWindow("Fri-Mon 22:00-04:00 America/New_York");
  t.ok(isOpenAt(night, at("2026-11-24T08:59:00Z")), "Monday's night lasts into Tuesday");
  t.notOk(isOpenAt(night, at("2026-11-24T09:00:00Z")));
  t.notOk(isOpenAt(night, at("2026-11-25T05:00:00Z")));
  t.ok(isOpenAt(parseWindow("Tue 00:00-24:00 UTC"), at("2026-11-24T23:59:59Z")));
  t.ok(isOpenAt(undefined, 0));
  t.end();
});

/** Lists the openings of a window after a time, and when each ends, as UTC times. */
function openings(text: string, after: string, count: number): string[] {
  const window = parseWindow(text);
  const found: string[] = [];
  let now = at(after);
  while (found.length < count) {
    const from = isOpenAt(window, now) ? now : nextOpening(window, now);
    now = from;
    while (isOpenAt(window, now)) now += 60_000;
    found.push([from, now].map((edge) => new Date(edge).toISOString().slice(0, 16)).join("/"));
  }
  return found;
}

t.test("a window is open while the clocks of its zone show its hours: not in a gap, twice where they repeat", (t) => {
  for (const [window, after, ...expected] of [
    // From 02:00 to 03:00 at 01:00 UTC.
    ["Sun 01:00-05:00 Europe/Berlin", "2026-03-28T12:00Z", "2026-03-29T00:00/2026-03-29T03:00"],
    ["Sun 01:00-02:30 Europe/Berlin", "2026-03-28T12:00Z", "2026-03-29T00:00/2026-03-29T01:00"],
    ["Sun 02:30-04:00 Europe/Berlin", "2026-03-28T12:00Z", "2026-03-29T01:00/2026-03-29T02:00"],
    ["Sun 02:10-02:50 Europe/Berlin", "2026-03-28T12:00Z", "2026-04-05T00:10/2026-04-05T00:50"],
    ["Mon-Sun 02:00-03:00 Europe/Berlin", "2026-03-28T12:00Z", "2026-03-30T00:00/2026-03-30T01:00"],
    // From 03:00 to 02:00 at 01:00 UTC.
    ["Sun 01:00-05:00 Europe/Berlin", "2026-10-24T12:00Z", "2026-10-24T23:00/2026-10-25T04:00"],
    [
      ...["Sun 02:10-02:50 Europe/Berlin", "2026-10-24T12:00Z"],
      ...["2026-10-25T00:10/2026-10-25T00:50", "2026-10-25T01:10/2026-10-25T01:50"],
    ],
    [
      ...["Sun 01:30-02:30 Europe/Berlin", "2026-10-24T12:00Z"],
      ...["2026-10-24T23:30/2026-10-25T00:30", "2026-10-25T01:00/2026-10-25T01:30"],
    ],
    // Nights over a change.
    ["Sat 22:00-04:00 America/New_York", "2026-03-07T12:00Z", "2026-03-08T03:00/2026-03-08T08:00"],
    ["Sat 22:00-04:00 America/New_York", "2026-10-31T12:00Z", "2026-11-01T02:00/2026-11-01T09:00"],
    // Half an hour: from 02:00 to 01:30 at 15:00 UTC, from 02:00 to 02:30 at 15:30 UTC.
    ["Sun 01:30-01:45 Australia/Lord_Howe", "2026-04-04T12:00Z", "2026-04-04T14:30/2026-04-04T14:45"],
    ["Sun 01:30-01:45 Australia/Lord_Howe", "2026-04-04T14:45Z", "2026-04-04T15:00/2026-04-04T15:15"],
    ["Sun 02:15-03:00 Australia/Lord_Howe", "2026-10-03T12:00Z", "2026-10-03T15:30/2026-10-03T16:00"],
    // Midnight is skipped, or it comes twice, or the last hour of the day before does.
    ["Sun 00:00-01:30 America/Havana", "2026-03-07T12:00Z", "2026-03-08T05:00/2026-03-08T05:30"],
    [
      ...["Sun 00:00-00:30 America/Havana", "2026-10-31T12:00Z"],
      ...["2026-11-01T04:00/2026-11-01T04:30", "2026-11-01T05:00/2026-11-01T05:30"],
    ],
    ["Sun 00:00-01:00 Asia/Beirut", "2026-03-28T12:00Z", "2026-04-04T21:00/2026-04-04T22:00"],
    ["Sat 22:00-24:00 Asia/Beirut", "2026-10-24T12:00Z", "2026-10-24T19:00/2026-10-24T22:00"],
    ["Sat 22:00-00:30 America/Sao_Paulo", "2018-02-17T12:00Z", "2018-02-18T00:00/2018-02-18T03:30"],
    ["Sat 23:30-00:30 America/Sao_Paulo", "2018-11-03T12:00Z", "2018-11-04T02:30/2018-11-04T03:00"],
    ["Sun 00:00-00:30 America/Sao_Paulo", "2018-11-03T12:00Z", "2018-11-11T02:00/2018-11-11T02:30"],
    // Back and forth around Ramadan.
    ["Sun 02:30-03:30 Africa/Casablanca", "2026-02-14T12:00Z", "2026-02-15T01:30/2026-02-15T02:00"],
    ["Sun 02:30-03:30 Africa/Casablanca", "2026-02-15T02:00Z", "2026-02-15T02:30/2026-02-15T03:30"],
    ["Sun 02:30-03:30 Africa/Casablanca", "2026-03-21T12:00Z", "2026-03-22T02:00/2026-03-22T02:30"],
  ] as const)
    t.same(openings(window, after, expected.length), expected, `${window} after ${after}`);
  t.end();
});

t.test("the opening of an open window stays the same until it closes, also where it never does", (t) => {
  const openedAt = (text: string, now: string) =>
    new Date(nextOpening(parseWindow(text), at(now))).toISOString().slice(0, 16);
  t.equal(openedAt("Fri 22:00-04:00 Europe/Berlin", "2026-11-27T23:30Z"), "2026-11-27T21:00", "after midnight");
  t.equal(openedAt("Mon-Sun 00:00-24:00 UTC", "2026-11-27T23:30Z"), "2026-11-27T00:00");
  t.equal(openedAt("Sun 02:30-04:00 Europe/Berlin", "2026-03-29T01:45Z"), "2026-03-29T01:00", "the end of the gap");
  t.equal(openedAt("Sat 22:00-04:00 Europe/Berlin", "2026-10-25T02:59Z"), "2026-10-24T20:00");
  t.equal(openedAt("Sun 02:10-02:50 Europe/Berlin", "2026-10-25T01:30Z"), "2026-10-25T01:10", "the second time");
  t.end();
});

interface Change {
  zone: string;
  start: number;
  end: number;
  /** Minutes that the zone is ahead of UTC, from hour to hour. */
  offsets: number[];
  /** Spans in seconds since 1970. */
  open: Record<string, [from: number, to: number][]>;
}

t.test("a model in Python agrees at the changes of all zones", { skip: needs("python3") }, (t) => {
  const windows = [
    ...["Mon-Sun 02:10-02:50", "Mon-Sun 01:30-03:30", "Mon-Sun 00:00-24:00", "Sun 00:00-00:30", "Sat 23:15-00:45"],
    ...["Thu-Sat 22:00-04:00", "Fri-Mon 23:00-24:00", "Mon-Sun 03:00-02:00", "Sat,Sun 00:00-12:00"],
  ];
  const model = fileURLToPath(new URL("../../../support/programs/window_model.py", import.meta.url));
  const options = { encoding: "utf8", maxBuffer: 2 ** 26 } as const;
  let compared = 0;
  let lines = 0;
  for (const line of execFileSync("python3", ["-B", model, "2026", ...windows], options)
    .trimEnd()
    .split("\n")) {
    const { zone, start, end, offsets, open } = JSON.parse(line) as Change;
    const known = IANAZone.create(zone);
    // Every zone at night; at each change those of every third line.
    if (lines++ % rounds(3, 1) !== 0) continue;
    // Another edition of the time zone database.
    if (offsets.some((offset, hour) => known.offset((start + hour * 3600) * 1000) !== offset)) continue;
    for (const text of windows) {
      const window = parseWindow(`${text} ${zone}`);
      const spans = open[text]!;
      const wrong: string[] = [];
      for (let second = start; second < end; second += 900) {
        const span = spans.find(([, to]) => second < to);
        const isOpen = span !== undefined && span[0] <= second;
        if (isOpenAt(window, second * 1000) !== isOpen) wrong.push(`at ${second}`);
        if (second % 7200 !== 0 || span === undefined) continue;
        const opening = nextOpening(window, second * 1000) / 1000;
        if (isOpen ? opening > second || (span[0] > start && opening < span[0]) : opening !== span[0])
          wrong.push(`opening ${opening} from ${second}`);
      }
      for (const edge of spans.flat().filter((each) => each > start && each < end))
        if (isOpenAt(window, edge * 1000) === isOpenAt(window, edge * 1000 - 1)) wrong.push(`edge ${edge}`);
      t.same(wrong, [], `${text} in ${zone}`);
      compared++;
    }
  }
  t.ok(compared > 100, `${compared} compared`);
  t.end();
});

t.test("windows that never open, unknown days, hours and zones, and waves that do not rise are refused", (t) => {
  for (const [text, message] of [
    ["Mon 09:00-09:00 UTC", /never opens/],
    ["Mon 24:00-09:00 UTC", /never opens/],
    ["Mon 09:00-16:00 Europe/Atlantis", /time zone/],
    ["Moon 09:00-16:00 UTC", /not a day/],
    ["Mon-Tue-Wed 09:00-16:00 UTC", /range of days/],
    ["Mon 9-16 UTC", /not a time/],
    ["Mon 09:60-16:00 UTC", /not a time/],
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
