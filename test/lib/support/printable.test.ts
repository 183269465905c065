import t from "tap";
import { readableLog } from "../../../lib/support/logging.ts";
import { printable, printableJson, printableLines } from "../../../lib/support/printable.ts";

/** A title, a cleared screen, a colour, a C1 sequence, a line separator, and writing turned around. */
const EVIL = "\u001b]0;owned\u0007\u001b[2J\u001b[31mred\u009b31m\u2028\u202edne\u007f \u{e0041}";
const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

t.test("a line keeps its words and loses what a terminal obeys", async (t) => {
  t.notMatch(printable(EVIL), OBEYED);
  t.match(printable(EVIL), /^red 31m dne/);
  t.equal(printable("Tromsø 港 ✓"), "Tromsø 港 ✓");
});

t.test("lines stay lines, and tabs stay tabs", async (t) => {
  t.equal(printableLines("a\tb\n\u001b[2Jc"), "a\tb\nc");
});

t.test("JSON stays the same value on one line without such characters", async (t) => {
  const value = { [EVIL]: [EVIL, "Tromsø 港"] };
  const text = printableJson(value);
  t.notMatch(text, OBEYED);
  t.match(text, "Tromsø 港");
  t.strictSame(JSON.parse(text), value);
});

t.test("a log record is one line for people, an error's stack below it", async (t) => {
  const record = { level: 40, time: "2026-11-24T08:00:00.000Z", name: "hub", msg: `slow ${EVIL}`, url: "/a", n: 2 };
  const line = readableLog(`${JSON.stringify(record)}\n`);
  t.match(line, /^\d\d:\d\d:\d\d [+-]\d\d:\d\d warn {2}slow red.* url=\/a n=2\n$/);
  t.notMatch(line.trimEnd(), OBEYED);
  const failed = { ...record, err: { type: "Error", message: "away", stack: "Error: away\n    at x" } };
  t.match(readableLog(JSON.stringify(failed)), /\n {2}Error: away\n {6}at x\n$/);
  t.equal(readableLog("no json \u001b[2J\n"), "no json \n");
});
