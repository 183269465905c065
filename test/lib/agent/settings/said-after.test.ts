// Holds: what the end of a turn says of settings (lib/agent/settings/first-start.ts)
import t from "tap";
import { saidAfter, untriedIn } from "../../../../lib/agent/settings/first-start.ts";
import type { Code } from "../../../../lib/contract/codes.ts";
import { deploymentError } from "../../../../lib/contract/errors.ts";
import type { SettingsOutcome } from "../../../../lib/contract/settings/texts.ts";
import { type FleetSettings, NO_SETTINGS } from "../../../../lib/releases/fleet-settings.ts";

const APPLIED: SettingsOutcome = {
  ...{ t: "sealift-outcome", v: 1, project: `prj_${"0".repeat(32)}`, to: "ab".repeat(32), number: 3 },
  ...{ digest: "cd".repeat(32), state: "applied", code: null, ignored: [], at: "2026-01-01T00:00:00Z" },
};
const TYPO = { name: "web.LEVLE", code: "settings_undeclared" };
const WAITING = { ...APPLIED, ignored: [{ name: "web", code: "no_version" }, TYPO] };
const FAILED: SettingsOutcome = { ...APPLIED, state: "failed", code: "env_missing" };
const held = { operator: "op", to: "to", number: 3, digest: "d", apps: { web: { LEVEL: "info" } } };

const ended = (code?: Code, outcome = "failed") =>
  code === undefined ? { outcome } : { outcome, error: deploymentError(code, "It failed.") };
const settings = (sent: boolean, more: Partial<FleetSettings> = {}): FleetSettings => ({
  ...{ ...NO_SETTINGS, held, outcome: { text: "", sent } },
  ...more,
});

t.test("where nothing runs, the first start decides, and a fault of its own decides nothing", (t) => {
  const after = (said: SettingsOutcome, sent: boolean, end: ReturnType<typeof ended>) =>
    saidAfter(said, settings(sent), undefined, end);
  for (const said of [APPLIED, WAITING])
    for (const code of ["unhealthy", "env_missing", "config_invalid"] as const)
      t.match(after(said, said === WAITING, ended(code)), { state: "failed", code }, code);
  t.same(after(WAITING, true, ended("unhealthy"))!.ignored, [TYPO], "nothing waits any more");
  t.equal(after(APPLIED, true, ended("unhealthy")), undefined, "they have worked before, and the hub knows");
  t.equal(after(FAILED, false, ended("unhealthy")), FAILED, "what failed them first is said");
  t.equal(after(FAILED, true, ended("unhealthy")), undefined, "once");
  for (const code of ["disk_full", "hub_unavailable", "interrupted"] as const)
    t.equal(after(APPLIED, false, ended(code)), undefined, code);
  t.equal(after(APPLIED, false, ended(undefined, "held")), undefined, "a pause");
  t.end();
});

t.test("where nobody lets a version start, each application waits for that reason", (t) => {
  for (const code of ["no_version", "rights_held", "policy_refused", "app_not_allowed"] as const)
    t.match(saidAfter(APPLIED, settings(false), undefined, ended(code)), {
      ...{ state: "applied", code: null, ignored: [{ name: "web", code }] },
    });
  const none = ended(undefined, "unpublished");
  t.same(saidAfter(APPLIED, settings(false), undefined, none)!.ignored, [{ name: "web", code: "no_version" }]);
  t.equal(saidAfter(WAITING, settings(true), undefined, none), undefined, "it has said so");
  t.same(saidAfter(WAITING, settings(true), undefined, ended("rights_held"))!.ignored, [
    ...[{ name: "web", code: "rights_held" }, TYPO],
  ]);
  t.end();
});

t.test("a release that runs with settings that are held has applied them, as far as it reads them", (t) => {
  const after = (said: SettingsOutcome, given: FleetSettings, unused = [TYPO]) =>
    saidAfter(said, given, unused, ended());
  t.same(after(FAILED, settings(true)), { ...APPLIED, ignored: [TYPO] });
  t.same(after(WAITING, settings(true), []), APPLIED);
  t.equal(after(APPLIED, settings(true), []), undefined, "nothing new");
  t.equal(after(APPLIED, settings(false), []), APPLIED, "which the hub does not have yet");
  const next = { ...held, number: 4 };
  t.equal(after(FAILED, settings(false, { next })), FAILED, "not while others have failed");
  t.equal(after(FAILED, settings(false, { held: { ...held, number: 2 } })), FAILED, "nor for those of before");
  t.end();
});

t.test("an application has not tried settings that it waits with, or that came while it was stopped", (t) => {
  const codes = ["no_version", "rights_held", "policy_refused", "app_not_allowed", "app_stopped"];
  const ignored = codes.map((code) => ({ name: code.replaceAll("_", "-"), code }));
  t.same(
    untriedIn({ ...APPLIED, ignored: [...ignored, TYPO] }),
    ignored.map(({ name }) => name),
  );
  t.end();
});
