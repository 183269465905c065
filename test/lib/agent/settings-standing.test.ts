// Holds: what doctor says of the settings of the fleet (lib/agent/settings-standing.ts)
import t from "tap";
import type { Finding } from "../../../lib/agent/finding.ts";
import { settingsFindings } from "../../../lib/agent/settings-standing.ts";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { signOutcome } from "../../../lib/artifact/sealed/settings.ts";
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

t.test("doctor says that settings which count have failed, as the host has told its operator", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  const key = hostKeyOf(newHostSeed());
  const said = { project: "prj_harbour00001", to: key.fingerprint, digest: "ef".repeat(32), ignored: [], at: AT };
  const found = async (number: number, state: "applied" | "failed" | "not_back", sent = true): Promise<Finding[]> => {
    const code = state === "applied" ? null : "health_failed";
    const outcome = { text: signOutcome({ ...said, number, state, code }, key), sent };
    await writeFleetSettings(layout, TARGET, { ...NO_SETTINGS, held, outcome });
    return (await Array.fromAsync(settingsFindings(layout, TARGET))).slice(1);
  };
  t.match(await found(3, "failed"), [
    { status: "warning", message: /^Number 3 has failed on this host \(health_failed\)/, hint: /log/ },
  ]);
  t.match(await found(3, "not_back"), [{ status: "warning", message: /^Number 3 has failed/ }]);
  t.strictSame(await found(3, "applied"), []);
  t.strictSame(await found(2, "failed"), [], "an older one decides nothing");
  await writeFleetSettings(layout, TARGET, { ...NO_SETTINGS, held, outcome: { text: "{", sent: true } });
  t.match(await Array.fromAsync(settingsFindings(layout, TARGET)), [{ status: "ok" }], "what nobody can read");
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
