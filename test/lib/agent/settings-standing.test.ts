// Holds: what doctor says of the settings of the fleet (lib/agent/settings-standing.ts)
import t from "tap";
import type { Finding } from "../../../lib/agent/finding.ts";
import { settingsFindings } from "../../../lib/agent/settings-standing.ts";
import { type FleetSettings, NO_SETTINGS, writeFleetSettings } from "../../../lib/releases/fleet-settings.ts";
import { settingsDigest, writeHeld } from "../../../lib/releases/holds.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const TARGET = "project-p";
const AT = "2026-05-01T00:00:00.000Z";
const held = { operator: "ab".repeat(32), to: "cd", number: 3, digest: "ef", apps: { web: { TOKEN: "planted" } } };

t.test("doctor says whose settings count, since when, and what is wrong with newer ones", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  const found = async (settings?: Partial<FleetSettings>): Promise<Finding[]> => {
    if (settings !== undefined) await writeFleetSettings(layout, TARGET, { ...NO_SETTINGS, ...settings });
    return Array.fromAsync(settingsFindings(layout, TARGET));
  };
  t.strictSame(await found(), []);
  const pinned = [held.operator];
  const [whose, counts, ...rest] = await found({ held, came_at: AT, pinned });
  t.match(whose, { status: "ok", message: `This operator is pinned: ${held.operator}` });
  t.match(counts, { status: "ok", message: new RegExp(`^Number 3 of the operator ${held.operator} .* since ${AT}$`) });
  t.strictSame(rest, []);
  const next = { ...held, number: 4 };
  const failed = { number: 4, code: "unhealthy", release: "r1" };
  const all = await found({ held, next, failed, behind: true, pinned });
  t.match(all.slice(2), [
    { status: "warning", message: /^Number 4 could not be used \(unhealthy\)/ },
    { status: "warning", message: /lower number than this host/, hint: /newest fleet\.lock/ },
  ]);
  t.notMatch(JSON.stringify(all), "planted");
  const others = ["12".repeat(32), "34".repeat(32)];
  t.match(await found({ held, pinned: others }), [
    { status: "ok", message: `These operators are pinned: ${others.join(", ")}` },
    { status: "ok", message: new RegExp(`${held.operator}, who is not pinned any more, counts`) },
  ]);
});

t.test("doctor names the required settings that nobody gives", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  await writeFleetSettings(layout, TARGET, NO_SETTINGS);
  const settings = await settingsDigest(layout, TARGET, ["web"]);
  const message = "web needs values for TOKEN.";
  await writeHeld(layout, TARGET, "settings", {
    version: "1.0.0",
    identity: null,
    message,
    apps: ["web"],
    settings,
    at: AT,
  });
  const found = await Array.fromAsync(settingsFindings(layout, TARGET));
  t.match(found, [
    { status: "warning", message: "1.0.0 waits for settings: web needs values for TOKEN", hint: /settings apply/ },
  ]);
  await writeFleetSettings(layout, TARGET, { ...NO_SETTINGS, held });
  t.match(await Array.fromAsync(settingsFindings(layout, TARGET)), [{ status: "ok" }], "until any setting changes");
});
