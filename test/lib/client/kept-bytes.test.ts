import t from "tap";
import { isFast, isSlow } from "../../../lib/client/kept-bytes.ts";

const MB = 1_000_000;

t.test("a download is slow after two seconds of waiting, where the rest takes longer than ten", (t) => {
  const cases: [slow: boolean, rest: number, fetched: number, waitedMs: number][] = [
    [false, 50 * MB, MB, 1999],
    [true, 50 * MB, MB, 2000],
    [false, 10 * MB, 2 * MB, 2000],
    [true, 10 * MB + 1, 2 * MB, 2000],
    [false, 300 * MB, 300 * MB, 3000],
    [true, 300 * MB, 300 * MB, 10_001],
    [false, 0, 50 * MB, 600_000],
    [true, 20_000, 1200, 2000],
  ];
  for (const [slow, rest, fetched, waitedMs] of cases)
    t.equal(isSlow(rest, { fetched, waitedMs }), slow, JSON.stringify({ rest, fetched, waitedMs }));
  t.end();
});

t.test(
  "a download that began slowly is fast where the whole takes ten seconds; a slow one stays so to its end",
  (t) => {
    t.equal(isFast(500 * MB, { fetched: MB, waitedMs: 3000 }), false);
    t.equal(isFast(500 * MB, { fetched: 200 * MB, waitedMs: 3500 }), true);
    t.equal(isFast(50 * MB, { fetched: 49 * MB, waitedMs: 16_000 }), false);
    t.equal(isFast(50 * MB, { fetched: 50 * MB, waitedMs: 1900 }), false, "a burst is no rate");
    t.end();
  },
);
