import fc from "fast-check";
import t from "tap";
import { BodyTurns } from "../../../../lib/runtime/router/body-turns.ts";
import { hasMoreValues as haveMoreValues } from "../../../../lib/runtime/router/body-values.ts";

const hasMoreValues = (text: string, most: number): boolean => haveMoreValues(Buffer.from(text), most);

/** Counts values and keys by building all of them. */
function countOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + countOf(each), 1);
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, each) => sum + 1 + countOf(each), 1);
}

t.test("values are counted as if they were built, whatever their texts hold and however they are spaced", (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), fc.constantFrom(0, 1, "\t"), (value, space) => {
      const text = JSON.stringify(value, null, space);
      const count = countOf(JSON.parse(text));
      return !hasMoreValues(text, count) && hasMoreValues(text, count - 1);
    }),
    { numRuns: 2000 },
  );
  const unit = fc.constantFrom("\\", '"', "[", "a", "aaaaaaaa");
  fc.assert(
    fc.property(fc.array(fc.string({ unit, maxLength: 100, size: "max" }), { maxLength: 5 }), (texts) => {
      const text = JSON.stringify(texts);
      return !hasMoreValues(text, texts.length + 1) && hasMoreValues(text, texts.length);
    }),
    { numRuns: 2000 },
  );
  const odd = JSON.stringify({ 'a"\\': '\\", {[' });
  t.notOk(hasMoreValues(odd, 3));
  t.ok(hasMoreValues(odd, 2));
  for (const open of ['"no end', `"${"a".repeat(70)}\\`, `"${"a".repeat(62)}\\`])
    t.notOk(hasMoreValues(open, 1), "of what is not JSON anything may be said");
  t.end();
});

t.test("large bodies take turns of the loop by plugin, and small ones take none", async (t) => {
  const turns = new BodyTurns();
  const done: string[] = [];
  const large = (plugin: string, name: string) => turns.take(plugin, 1_000_000, () => done.push(name));
  for (const name of ["a1", "a2", "a3"]) large("a", name);
  large("b", "b1");
  turns.take("a", 10, () => done.push("small"));
  t.strictSame(done, ["small"]);
  const seen: number[] = [];
  for (let turn = 0; turn < 5; turn++) {
    await new Promise((resolve) => void setImmediate(resolve));
    seen.push(done.length);
  }
  t.strictSame(done, ["small", "a1", "b1", "a2", "a3"]);
  t.ok(
    seen.every((count, turn) => turn === 0 || count - seen[turn - 1]! <= 1),
    "one in a turn",
  );
});
