import fc from "fast-check";
import t from "tap";
import { LineCutter } from "../../../lib/support/lines.ts";

const cut = (chunks: readonly Buffer[], maxCharacters: number, mark?: string): string[] => {
  const cutter = new LineCutter(maxCharacters, mark);
  return [...chunks.flatMap((chunk) => cutter.take(chunk)), ...cutter.end()];
};

t.test("lines are the same however the bytes come", async () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", "é", "日", "\n", "\r\n") }), fc.nat(40), (text, at) => {
      const bytes = Buffer.from(text);
      const lines = text.split(/\r?\n/);
      if (lines.at(-1) === "") lines.pop();
      const found = cut([bytes.subarray(0, at), bytes.subarray(at)], 1000);
      return JSON.stringify(found) === JSON.stringify(lines);
    }),
  );
});

t.test("the rest of a long line is dropped as it comes", (t) => {
  const chunks = [Buffer.from("abcdef"), Buffer.from("ghi\nxy")];
  t.strictSame(cut(chunks, 4), ["abcd", "xy"]);
  t.strictSame(cut(chunks, 4, "…"), ["abcd…", "xy"], "marked, where that is wanted");
  t.end();
});
