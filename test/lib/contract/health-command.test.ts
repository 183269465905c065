// Holds: when a health command is run again (lib/contract/files/health-command.ts)
import t from "tap";
import { isAskedAgain } from "../../../lib/contract/files/health-command.ts";

t.test("a good answer counts for a minute, a bad one for five seconds, and none after the clock was set back", (t) => {
  t.strictSame([isAskedAgain(null, 59_999), isAskedAgain(null, 60_000)], [false, true]);
  t.strictSame([isAskedAgain("it is ill", 4_999), isAskedAgain("it is ill", 5_000)], [false, true]);
  t.strictSame([isAskedAgain(null, -1), isAskedAgain(null, 0)], [true, false]);
  t.end();
});
