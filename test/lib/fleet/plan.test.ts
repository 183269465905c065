// Holds: which hosts an apply gives new settings, and in which order (lib/fleet/plan.ts)
import { join } from "node:path";
import t, { type Test } from "tap";
import type { HostMatch } from "../../../lib/contract/files/fleet.ts";
import type { Fleet } from "../../../lib/fleet/fleet-file.ts";
import { planOf, requireNothingLost } from "../../../lib/fleet/plan.ts";
import type { Enrolled } from "../../../lib/fleet/roll.ts";
import { type JudgedFacts, judgedFleet } from "../../support/hub/judged-fleet.ts";
import { errorOf } from "../../support/hub/surface-b.ts";

const STOPPED = [{ name: "web", code: "app_stopped" }];

/** A fleet whose file gives `web.A`, and what an apply would do. */
async function fleetOf(t: Test, hosts: Record<string, JudgedFacts>, given: Record<string, string> = { A: "one" }) {
  const { folder, ...facts } = await judgedFleet(t, hosts);
  const [file, lockFile] = [join(folder, "fleet.yaml"), join(folder, "fleet.lock")];
  const apps = Object.keys(given).length === 0 ? {} : { web: given };
  const fleet: Fleet = { project: "Harbour", settings: [{ match: {}, apps }], file, folder, lockFile };
  const plan = (more: object = {}) =>
    planOf({ ...facts, fleet, runsCommands: true, replaces: false, env: {}, ...more });
  const planned = async (more: object = {}) => (await plan(more)).planned.map(({ host }) => host.name);
  const unheard = async () => (await plan()).unheard.map(({ host }) => host.name);
  return { fleet, plan, planned, unheard };
}

const NEW = { roll: { number: 0, document: undefined, content: undefined }, hub: null, said: null } as const;
const OTHER = { content: "0".repeat(16) };

t.test("a host gets a document where roll, hub or host know another one, or could not use this one", async (t) => {
  const { plan, planned } = await fleetOf(t, {
    applied: {},
    silent: { said: null },
    "failed-with-one-before": { said: { number: 2, state: "failed", code: "unhealthy" } },
    new: NEW,
    "with-others": { roll: OTHER },
    "cut-off": { roll: { pending: 4 } },
    "at-a-restored-hub": { hub: 2 },
    failed: { said: { state: "failed", code: "unhealthy" } },
    "not-back": { said: { state: "not_back", code: "unhealthy" } },
  });
  t.strictSame((await planned()).toSorted(), [
    "at-a-restored-hub",
    "cut-off",
    "failed",
    "new",
    "not-back",
    "with-others",
  ]);
  t.equal((await plan()).unchanged, 3);
  t.strictSame(await planned({ only: new Set(["new", "applied"]) }), ["new"]);
});

t.test("where the file gives nothing, a host that never had anything gets nothing", async (t) => {
  const never = { ...NEW };
  const { planned } = await fleetOf(
    t,
    { never, had: { roll: OTHER }, "had-at-no-hub": { roll: OTHER, hub: null } },
    {},
  );
  t.strictSame((await planned()).toSorted(), ["had", "had-at-no-hub"]);
  const others = await fleetOf(t, { "from-another-program": { ...never, hub: 2 } }, {});
  t.match(await errorOf(others.plan()), { code: "settings_conflict" });
  t.strictSame(await others.planned({ replaces: true }), ["from-another-program"]);
});

t.test("a host that speaks of another document is given one where others' are replaced", async (t) => {
  const { planned } = await fleetOf(t, { "pier-7": { said: { digest: "ee".repeat(32) } } });
  t.strictSame(await planned({ replaces: true }), ["pier-7"]);
});

t.test("a roll without hosts is no fleet", async (t) => {
  const { plan } = await fleetOf(t, {});
  t.match(await errorOf(plan()), { code: "usage", message: /There is no host in .*fleet\.lock yet/ });
});

t.test("those that failed come first, then those heard last, then those that have tried nothing", async (t) => {
  const [old, recent] = ["2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"];
  const { planned } = await fleetOf(
    t,
    {
      "e-stopped": { said: { ignored: STOPPED }, heardAt: recent },
      "d-untried": { said: { ignored: [{ name: "web", code: "no_version" }] }, heardAt: old },
      "a-silent": { said: null },
      "z-applied": { heardAt: recent },
      "b-applied": { heardAt: old },
      "c-applied": { heardAt: old },
      "y-failed": { said: { state: "failed", code: "unhealthy" }, heardAt: old },
      "x-failed": { said: { state: "failed", code: "unhealthy", ignored: STOPPED }, heardAt: recent },
    },
    { A: "two", B: "two" },
  );
  t.strictSame(await planned(), [
    ...["x-failed", "y-failed", "z-applied", "b-applied", "c-applied", "a-silent"],
    ...["e-stopped", "d-untried"],
  ]);
});

t.test("a host with one stopped application of two is no first one, either", async (t) => {
  const { fleet, planned } = await fleetOf(t, { "a-stopped": { said: { ignored: STOPPED } }, "b-applied": {} });
  fleet.settings.push({ match: {}, apps: { api: { A: "two" } } });
  t.strictSame(await planned(), ["b-applied", "a-stopped"]);
});

t.test("a host is waited for that has what others get, and of which nobody has heard", async (t) => {
  const other = { roll: OTHER };
  const silent = { said: null };
  for (const [what, hosts, expected] of [
    ["one that is silent", { silent, other }, ["silent"]],
    ["one that speaks of the number before", { silent: { said: { number: 2 } }, other }, ["silent"]],
    ["another one has tried them", { silent, applied: {}, other }, []],
    [
      "another one has taken and not tried them",
      { silent, stopped: { said: { ignored: STOPPED } }, other },
      ["silent"],
    ],
    ["another one has spoken of those before", { silent, late: { said: { number: 2 } }, other }, ["late", "silent"]],
    ["it is out of service", { silent: { ...silent, out_of_service: "new disk" }, other }, []],
    ["nobody gets anything", { silent }, []],
  ] as const)
    t.strictSame(
      (await (await fleetOf(t, hosts as Record<string, JudgedFacts>)).unheard()).toSorted(),
      expected as readonly string[],
      what,
    );
  const { fleet, unheard } = await fleetOf(t, { silent, other });
  fleet.settings.push({ match: { hosts: ["other"] } as HostMatch, apps: { web: { A: "two" } } });
  t.strictSame(await unheard(), [], "others get other settings");
});

t.test("an entry for nobody takes no value away", (t) => {
  const host = { name: "pier-7" } as Enrolled;
  const idle = [{ text: "settings.0 applies to no host", names: ["web.A"] }];
  const removing = (removed: string[]) => ({ idle, changes: [{ hosts: [host], added: [], changed: [], removed }] });
  t.doesNotThrow(() => requireNothingLost("fleet.yaml", removing(["web.B"])));
  t.throws(() => requireNothingLost("fleet.yaml", removing(["web.A"])), {
    ...{ code: "config_invalid", message: /1 host would lose values, and settings\.0 applies to no host/ },
  });
  t.end();
});
