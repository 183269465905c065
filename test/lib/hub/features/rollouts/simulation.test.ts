// Only in test:all: random cases.
import fc from "fast-check";
import t from "tap";
import { byPrecedence, isDowngrade, type RankedVersion } from "../../../../../lib/contract/versions.ts";
import { isOpenAt, nextOpening, parseWindow } from "../../../../../lib/hub/gate/window.ts";
import { openSimulated } from "../../../../../scripts/simulate/furnish.ts";
import { compare, isStepDown } from "../../../../../scripts/simulate/oracle/order.ts";
import { opening } from "../../../../../scripts/simulate/oracle/window.ts";
import { planOf } from "../../../../../scripts/simulate/plan.ts";
import { play } from "../../../../../scripts/simulate/play.ts";
import { rounds } from "../../../../support/effort.ts";

const SEEDS = rounds(32, 200);

t.test("operators break no rule, whatever they do and whatever is lost, late, dead, restarted or closed", async (t) => {
  const { database, close } = await openSimulated();
  t.teardown(close);
  const ended = new Set<string>();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { broken, steps, rollouts } = await play(database, planOf(seed));
    for (const state of rollouts) ended.add(state);
    if (broken !== undefined) t.fail(`seed ${seed}: ${broken.message}`, { steps });
  }
  t.strictSame([...ended].toSorted(), ["aborted", "completed", "halted", "paused", "replaced", "running"]);
  const [once, again] = [await play(database, planOf(7)), await play(database, planOf(7))];
  t.strictSame(once, again, "a seed can be played again");
});

const number = fc.constantFrom("0", "1", "2", "10", "01", "9007199254740991", "9007199254740992");
const word = fc.constantFrom("rc", "1", "10", "2", "0", "01", "alpha", "-", "x-1", "");
const labels = fc.oneof(
  fc.tuple(number, number, number).map((parts) => parts.join(".")),
  fc
    .tuple(number, number, fc.array(word, { minLength: 1, maxLength: 3 }), fc.option(word))
    .map(([a, b, pre, build]) => `${a}.${b}.0-${pre.join(".")}${build === null ? "" : `+${build}`}`),
  fc.tuple(number, word).map(([a, build]) => `1.0.${a}+${build}`),
  fc.constantFrom("v1.0.0", "nightly", "nightly-2", "1.0", "latest", "1.0.0.0"),
);
const times = fc.integer({ min: Date.parse("2026-01-01"), max: Date.parse("2026-01-01") + 3 });

t.test("the oracle's order of versions, which shares nothing with the product's, is the same", (t) => {
  const versions = fc.record({ version: labels, publishedAt: times });
  const factsOf = ({ version, publishedAt }: { version: string; publishedAt: number }): RankedVersion => ({
    version,
    created_at: new Date(publishedAt).toISOString(),
  });
  fc.assert(
    fc.property(versions, versions, (a, b) => {
      if (a.version === b.version) return isStepDown(a.version, b.version) === isDowngrade(a.version, b.version);
      const isSame = Math.sign(byPrecedence(factsOf(a), factsOf(b))) === -Math.sign(compare(a, b));
      return isSame && isStepDown(a.version, b.version) === isDowngrade(a.version, b.version);
    }),
    { numRuns: 5000 },
  );
  t.end();
});

t.test("the oracle's windows, which know the clock changes of two zones by heart, open when the product's do", (t) => {
  const windows = fc.constantFrom(
    ...["Mon-Fri 09:50-10:40 Europe/Berlin", "Sun 01:30-03:30 Europe/Berlin", "Sat-Sun 23:00-00:30 UTC"],
    ...["Mon-Sat 03:50-04:25 America/New_York", "Fri-Mon 22:00-04:00 America/New_York"],
  );
  const year = { min: Date.parse("2026-01-01T00:00:00Z"), max: Date.parse("2027-12-31T00:00:00Z") };
  fc.assert(
    fc.property(windows, fc.integer(year), (text, now) => {
      const window = parseWindow(text);
      return (
        nextOpening(window, now) === opening(text, now).from && isOpenAt(window, now) === opening(text, now).from <= now
      );
    }),
    { numRuns: 2000 },
  );
  t.end();
});
