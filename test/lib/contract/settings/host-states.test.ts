import t from "tap";
import { hostSettingsText, settingsNote } from "../../../../lib/contract/settings/host-states.ts";

t.test("one line says which settings a host has, and what it made of them", (t) => {
  for (const [facts, text] of [
    [{}, ""],
    [{ settings_number: 3 }, ""],
    [{ settings_state: "none" }, "none"],
    [{ settings_state: "waits", settings_number: 4 }, "4 not heard yet"],
    [{ settings_state: "waits", settings_number: 4, settings_of: 3 }, "4 not heard yet, 3 before"],
    [{ settings_state: "applied", settings_number: 3, settings_of: 3 }, "3 applied"],
    [{ settings_state: "applied", settings_of: 3 }, "3 applied"],
    [{ settings_state: "applied", settings_number: 2, settings_of: 3 }, "3 applied, the hub has 2"],
    [
      { settings_state: "failed", settings_number: 4, settings_of: 4, settings_code: "unhealthy" },
      "4 failed (unhealthy)",
    ],
    [{ settings_state: "not_back", settings_number: 4, settings_of: 4 }, "4 failed, and not back"],
  ] as const) {
    t.equal(hostSettingsText(facts), text, JSON.stringify(facts));
    t.equal(settingsNote(facts), text === "" ? "" : text === "none" ? "no settings" : `settings ${text}`);
  }
  t.end();
});
