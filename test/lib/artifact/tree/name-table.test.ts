import fc from "fast-check";
import t from "tap";
import { NameTable } from "../../../../lib/artifact/tree/name-table.ts";

const lower = (name: string): string => name.toLowerCase();

t.test("a table finds what a map would find", (t) => {
  const names = fc.array(fc.oneof(fc.stringMatching(/^[aAbB]{0,6}$/), fc.string({ unit: "grapheme" })), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(names, (added) => {
      const table = new NameTable((entry) => added[entry]!, lower);
      const expected = new Map<string, { index: number; name: string }>();
      for (const [at, name] of added.entries()) {
        const key = lower(name);
        const earlier = expected.get(key);
        const { index, isNew } = table.add(name, at, 0);
        if (earlier === undefined) expected.set(key, { index, name });
        if (isNew !== (earlier === undefined) || (earlier !== undefined && earlier.index !== index)) return false;
      }
      return [...expected.values()].every(({ index, name }) => table.nameAt(index) === name);
    }),
    { numRuns: 500 },
  );
  t.end();
});

t.test("a table grows, and keeps every name with its number", (t) => {
  const nameOf = (index: number): string => `${"é".repeat(index % 500)}/${index}`;
  const count = 5000;
  const table = new NameTable((entry) => nameOf(entry - 9), lower);
  for (let index = 0; index < count; index++) table.add(nameOf(index), index + 9, index % 256);
  table.setKind(7, 200);
  const wrong = Array.from({ length: count }, (_, index) => index).filter(
    (index) =>
      table.add(nameOf(index), 0, 0).index !== index ||
      table.nameAt(index) !== nameOf(index) ||
      table.kindAt(index) !== (index === 7 ? 200 : index % 256),
  );
  t.strictSame(wrong, []);
  table[Symbol.dispose]();
  t.end();
});
