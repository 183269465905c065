import fc from "fast-check";
import t from "tap";
import { naturally } from "../../../lib/support/natural-order.ts";

t.test("digits in a row are one number", (t) => {
  const sorted = [
    "",
    "1",
    "host",
    "host-0",
    "host-02",
    "host-2",
    "host-17",
    "host-102",
    "host-102b",
    "host-102c",
    "host-a",
  ];
  t.strictSame(sorted.toReversed().toSorted(naturally), sorted);
  t.strictSame(["1.10.0", "1.9.0", "1.9"].toSorted(naturally), ["1.9", "1.9.0", "1.10.0"]);
  t.end();
});

t.test("it is an order of all texts: the same from both sides, whatever comes between", (t) => {
  const text = fc.string({ unit: fc.constantFrom("0", "1", "9", "a", "-", ""), maxLength: 8 });
  fc.assert(
    fc.property(text, text, text, (a, b, c) => {
      const signs = [Math.sign(naturally(a, b)), -Math.sign(naturally(b, a))];
      const isCycle = naturally(a, b) < 0 && naturally(b, c) < 0 && naturally(a, c) >= 0;
      return signs[0] === (signs[1] === 0 ? 0 : signs[1]) && (naturally(a, b) === 0) === (a === b) && !isCycle;
    }),
    { numRuns: 5000 },
  );
  t.end();
});
