import t from "tap";
import { parseWindow, readNewWindow } from "../../../../lib/hub/gate/window.ts";

t.test("a new window is written as the contract has it; what a hub of 0.1.0 stored is read", (t) => {
  for (const text of [
    "Mon-Thu 09:00-16:00 Europe/Berlin",
    "Fri-Mon,Wed 22:00-04:00 UTC",
    "Mon 00:00-24:00 America/Argentina/Buenos_Aires",
    "Sun 01:00-02:30 Etc/GMT+2",
  ])
    t.same(readNewWindow(text), parseWindow(text), text);
  for (const text of [
    "Mon 09:00-16:00 +02:00",
    "Mon 09:00-16:00 -0500",
    "Mon 9:00-16:00 UTC",
    "mon 09:00-16:00 UTC",
    "Mon,Mon 09:00-16:00 UTC",
    "Mon-Wed,Tue 09:00-16:00 UTC",
    "Mon 09:00-16:00 utc",
    "Mon 09:00-16:00 Europe/berlin",
    "Mon  09:00-16:00 UTC",
    " Mon 09:00-16:00 UTC",
  ]) {
    t.throws(() => readNewWindow(text), text);
    t.doesNotThrow(() => parseWindow(text), `${text} is read`);
  }
  t.end();
});
