import fc from "fast-check";
import t from "tap";
import { clock, localTime, offset } from "../../../lib/support/local-time.ts";
import { printable } from "../../../lib/support/printable.ts";
import { bar, barChart, fit, formatCount, moment, percent, span, spark, widthOf, wrap } from "../../../lib/tui/text.ts";

t.test("a cell has exactly its width, whatever the text is", async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), fc.integer({ min: 1, max: 50 }), (text, width) => {
      const cell = fit(printable(text), width);
      return widthOf(cell) === width;
    }),
    { numRuns: 2000 },
  );
  t.equal(fit("plugin:tide-table", 8), "plugin:…");
  t.equal(fit("a", 3), "a  ");
  t.equal(fit("anything", 0), "");
});

t.test("nothing that a terminal obeys is left of a text from outside", async (t) => {
  t.equal(printable("a\u001b[31mred\u001b[0m b"), "ared b");
  t.equal(printable("title \u001b]0;pwned\u0007 end"), "title  end");
  t.equal(printable("clear\u001b[2J\u001b[Hscreen"), "clearscreen");
  t.equal(printable("line one\r\nline two\u0000\u009b31m"), "line one line two 31m");
  t.equal(printable("right\u202eto left"), "right to left");
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 80 }), (text) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(printable(text))),
    { numRuns: 2000 },
  );
});

t.test("a bar has its width and grows with its share", async (t) => {
  fc.assert(
    fc.property(fc.double({ min: -1, max: 2, noNaN: true }), fc.integer({ min: 1, max: 60 }), (share, width) => {
      return widthOf(bar(share, width)) === width;
    }),
  );
  t.equal(bar(0, 4), "░░░░");
  t.equal(bar(1, 4), "████");
  t.equal(bar(0.5, 4), "██░░");
  t.equal(bar(0.6, 4, " "), "██▍ ");
});

t.test("numbers and times read as people say them", async (t) => {
  t.equal(percent(0.999), " 99 %", "what is not whole is not 100 %");
  t.equal(percent(1), "100 %");
  t.equal(formatCount(100000), "100,000");
  t.equal(span(45), "45 ms");
  t.equal(span(2400), "2.4 s");
  t.equal(span(59_400), "59 s");
  t.equal(span(200_000), "3 m 20 s");
  t.equal(span(7_500_000), "2 h 5 m");
  t.equal(span(3 * 86_400_000 + 4 * 3_600_000), "3 d 4 h");
  const noon = new Date(2026, 10, 20, 12, 3, 4).getTime();
  t.equal(clock(noon), "12:03:04");
  t.equal(localTime(noon), `2026-11-20 12:03:04 ${offset(noon)}`);
  t.equal(Date.parse(localTime(noon).replace(" ", "T").replace(" ", "")), noon, "with its zone it is one moment");
  t.equal(moment(noon, noon + 1000), "12:03:04");
  t.equal(moment(noon, noon + 86_400_000), "2026-11-20 12:03");
});

const SIGNS = new Intl.Segmenter();

t.test("wrapped lines fit, and hold all of the text", async () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), fc.integer({ min: 2, max: 40 }), (text, width) => {
      const lines = wrap(text, width);
      const bare = (all: string): string => all.replaceAll(/[ \n]/g, "");
      // A single sign that is wider than the line is left whole.
      const fits = (line: string): boolean => widthOf(line) <= width || [...SIGNS.segment(line)].length === 1;
      return lines.every(fits) && bare(lines.join("")) === bare(text);
    }),
  );
});

t.test("texts of others reach the terminal without characters that end a line", (t) => {
  for (const sign of ["\u2028", "\u2029", "\u0085", "\n", "\u001b"]) {
    const shown = fit(`host${sign}name`, 12);
    t.notOk(shown.includes(sign), sign.codePointAt(0)!.toString(16));
    t.equal(widthOf(shown), 12);
  }
  t.end();
});

t.test("a small picture of numbers is as high as the largest of them", async (t) => {
  t.equal(spark([0, 50, 100, 25]), "▁▅█▃");
  t.equal(spark([0, 0]), "▁▁");
  t.equal(barChart([0, 1, 500, 1000], 1000), " ▁▄█", "one host of a thousand is seen, and none is not");
  t.equal(barChart([0, 0], 0), "  ");
  t.equal(widthOf(spark([1, 2, 3])), 3);
});
