import t from "tap";
import { timeText } from "../../../commands/shell/output/listing.ts";

t.test("a time is of this place, with its zone, on a terminal, and UTC for programs", (t) => {
  const before = process.env["TZ"];
  t.teardown(() => {
    if (before === undefined) delete process.env["TZ"];
    else process.env["TZ"] = before;
  });
  process.env["TZ"] = "Asia/Kolkata";
  t.equal(timeText("2026-01-01T20:00:00.000Z", true), "2026-01-02 01:30:00 +05:30");
  process.env["TZ"] = "America/St_Johns";
  t.equal(timeText("2026-01-01T00:00:00.000Z", true), "2025-12-31 20:30:00 -03:30");
  t.equal(timeText("2026-01-01T20:00:00.000Z", false), "2026-01-01 20:00:00Z");
  t.equal(timeText("yesterday", true), "yesterday");
  t.end();
});
