// Holds: what is deployed, held or left (lib/agent/watch/decide.ts, lib/releases/quarantine.ts)
import fc from "fast-check";
import t from "tap";
import { decideDeployment, type TargetFacts } from "../../../../lib/agent/watch/decide.ts";
import { isDowngrade } from "../../../../lib/contract/versions.ts";
import type { Hold } from "../../../../lib/releases/holds.ts";

const facts = (
  given: Partial<TargetFacts> & { version?: string | null; identity?: string; yanked?: string[] },
): TargetFacts => {
  const { version = "2.0.0", identity = "bytes", yanked = [], ...rest } = given;
  const latest = { version, identity, yanked };
  const own = { running: "1.0.0", latest, quarantine: [], paused: false, damaged: false, allowDowngrade: false };
  return { ...own, ran: new Set(), ...rest };
};
const bad = (version: string, identity: string | null = "bytes") => ({
  version,
  identity,
  code: "unhealthy",
  reason: "it was rolled back",
  at: "2026-01-01T00:00:00Z",
});

const isForced = (asked: TargetFacts["asked"]): boolean => asked === "retry" || asked === "redeploy";

const version = fc.constantFrom("0.9.0", "1.0.0", "1.0.0-rc.1", "2.0.0", "nightly", "build-7");
const identity = fc.constantFrom("one", "two", null);
const anyFacts: fc.Arbitrary<TargetFacts> = fc.record({
  running: fc.option(version),
  latest: fc.record({
    ...{ version: fc.option(version), identity, yanked: fc.uniqueArray(version) },
    withdrawn: fc.option(version),
  }),
  keepsEarlier: fc.boolean(),
  quarantine: fc.array(fc.tuple(version, identity).map(([label, bytes]) => bad(label, bytes))),
  paused: fc.boolean(),
  damaged: fc.boolean(),
  allowDowngrade: fc.boolean(),
  ran: fc.uniqueArray(version).map((versions) => new Set(versions)),
  asked: fc.constantFrom(undefined, "check", "redeploy", "retry"),
});

t.test("every change of the latest version is followed, also to labels that have no order", (t) => {
  t.same(decideDeployment(facts({})), { do: "deploy", version: "2.0.0", reinstall: false });
  t.same(decideDeployment(facts({ running: null })), { do: "deploy", version: "2.0.0", reinstall: false });
  t.match(decideDeployment(facts({ running: "nightly-2", version: "nightly-1" })), {
    do: "deploy",
    version: "nightly-1",
  });
  t.same(decideDeployment(facts({ version: null })), { do: "nothing" });
  t.same(decideDeployment(facts({ version: null, asked: "redeploy" })), { do: "nothing" });
  t.same(decideDeployment(facts({ running: "2.0.0" })), { do: "nothing" });
  t.end();
});

t.test("a pinned version is kept, also against a newer one, but not against quarantine and pause", (t) => {
  t.same(decideDeployment(facts({ running: "1.0.0", pin: "1.0.0" })), { do: "nothing" });
  t.same(decideDeployment(facts({ running: "2.0.0", pin: "1.0.0" })), {
    do: "deploy",
    version: "1.0.0",
    reinstall: false,
  });
  t.same(decideDeployment(facts({ running: null, version: null, pin: "1.0.0" })), {
    do: "deploy",
    version: "1.0.0",
    reinstall: false,
  });
  t.match(decideDeployment(facts({ pin: "1.5.0", quarantine: [bad("1.5.0")] })), { do: "hold", reason: "quarantined" });
  t.match(decideDeployment(facts({ pin: "1.5.0", paused: true })), { do: "hold", reason: "paused" });
  t.end();
});

t.test("a version that was refused without a signature comes in once its author has signed it", (t) => {
  const unsigned = { ...bad("2.0.0"), code: "signature_missing" };
  const latest = { version: "2.0.0", identity: "bytes", yanked: [] };
  const decided = (isSigned: boolean, entry = unsigned) =>
    decideDeployment(facts({ quarantine: [entry], latest: { ...latest, isSigned } }));
  t.match(decided(false), { do: "hold", reason: "quarantined" });
  t.match(decided(true), { do: "deploy", version: "2.0.0" });
  t.match(decided(true, bad("2.0.0")), { do: "hold", reason: "quarantined" }, "a signature heals nothing else");
  t.end();
});

t.test("what is in quarantine stays out until its bytes are others or a person asks", (t) => {
  const quarantine = [bad("1.5.0"), bad("2.0.0")];
  t.match(decideDeployment(facts({ quarantine })), {
    do: "hold",
    version: "2.0.0",
    reason: "quarantined",
    message: /rolled back/,
  });
  t.match(decideDeployment(facts({ quarantine, version: "2.0.1" })), { do: "deploy", version: "2.0.1" });
  t.match(decideDeployment(facts({ quarantine, identity: "other bytes" })), { do: "deploy" });
  t.match(
    decideDeployment(facts({ quarantine: [bad("2.0.0", null)] })),
    { do: "hold" },
    "unknown bytes may be the same",
  );
  for (const asked of ["retry", "redeploy"] as const) {
    t.match(decideDeployment(facts({ quarantine, asked })), { do: "deploy", version: "2.0.0", reinstall: false });
  }
  fc.assert(
    fc.property(anyFacts, (given) => {
      const { latest, quarantine: entries, asked } = given;
      const decision = decideDeployment(given);
      const same = (entry: { identity: string | null }): boolean =>
        entry.identity === null || latest.identity === null || entry.identity === latest.identity;
      const held = entries.some((entry) => entry.version === latest.version && same(entry));
      return !(held && !isForced(asked) && decision.do === "deploy");
    }),
  );
  t.end();
});

t.test("a lower version is taken only if it ran here and the running one is yanked, or if that is allowed", (t) => {
  const lower = { running: "2.0.0", version: "1.0.0" };
  t.match(decideDeployment(facts(lower)), { do: "hold", version: "1.0.0", reason: "downgrade" });
  t.match(decideDeployment(facts({ ...lower, asked: "redeploy" })), { do: "hold", reason: "downgrade" });
  const ran = new Set(["1.0.0"]);
  t.match(decideDeployment(facts({ ...lower, ran, yanked: ["2.0.0"] })), { do: "deploy", version: "1.0.0" });
  t.match(
    decideDeployment(facts({ ...lower, ran, yanked: ["3.0.0"] })),
    { do: "hold" },
    "it is the running one that counts",
  );
  const unknown = { do: "hold", reason: "downgrade", message: /has never run 1\.0\.0/ };
  t.match(decideDeployment(facts({ ...lower, yanked: ["2.0.0"] })), unknown);
  t.match(decideDeployment(facts({ ...lower, yanked: ["2.0.0"], asked: "retry" })), unknown, "whoever asks");
  t.match(decideDeployment(facts({ ...lower, allowDowngrade: true })), { do: "deploy", version: "1.0.0" });
  fc.assert(
    fc.property(anyFacts, (given) => {
      const { running, latest, allowDowngrade, ran } = given;
      const decision = decideDeployment(given);
      const lowered = decision.do === "deploy" && running !== null && isDowngrade(running, decision.version);
      const isGone = running !== null && (latest.yanked.includes(running) || latest.withdrawn === running);
      return !lowered || allowDowngrade || (isGone && ran.has(decision.version));
    }),
  );
  t.end();
});

t.test("from a version that was taken back a host goes to what it keeps, else down to a version that it ran", (t) => {
  const latest = { version: "1.0.0", identity: "bytes", yanked: [], withdrawn: "2.0.0" };
  const back = { running: "2.0.0", latest, ran: new Set(["1.0.0"]) };
  t.same(decideDeployment(facts(back)), { do: "go-back" });
  t.match(decideDeployment(facts({ ...back, paused: true })), { do: "hold", reason: "paused" });
  const bare = { ...back, keepsEarlier: false };
  t.match(decideDeployment(facts(bare)), { do: "deploy", version: "1.0.0" });
  t.match(decideDeployment(facts({ ...bare, ran: new Set() })), {
    ...{ do: "hold", reason: "downgrade" },
    message: /lower than the running 2\.0\.0, which was taken back, and this host has never run 1\.0\.0/,
  });
  t.end();
});

t.test("a redeploy of what runs installs it anew, a retry of it does nothing", (t) => {
  t.same(decideDeployment(facts({ running: "2.0.0", asked: "redeploy" })), {
    do: "deploy",
    version: "2.0.0",
    reinstall: true,
  });
  t.same(decideDeployment(facts({ running: "2.0.0", asked: "retry" })), { do: "nothing" });
  t.same(decideDeployment(facts({ running: "2.0.0", damaged: true })), {
    do: "deploy",
    version: "2.0.0",
    reinstall: true,
  });
  t.same(decideDeployment(facts({ running: "2.0.0", damaged: true, paused: true })), { do: "nothing" });
  fc.assert(
    fc.property(anyFacts, (given) => {
      const decision = decideDeployment(given);
      const anew = decision.do === "deploy" && decision.version === given.running;
      return (
        anew === (decision.do === "deploy" && decision.reinstall) &&
        (!anew || given.asked === "redeploy" || given.damaged)
      );
    }),
  );
  t.end();
});

const held = (reason: Hold["reason"], more: Partial<Hold> = {}) => ({
  ...{ reason, version: "2.0.0", identity: "bytes", message: `2.0.0 waits for ${reason}`, ...more },
});

t.test("a version that waits for consent is held, other bytes and a person's request are not", (t) => {
  const holds = [held("rights", { rights: ["a: network: all"] })];
  t.same(decideDeployment(facts({ holds })), {
    ...{ do: "hold", version: "2.0.0", reason: "rights", rights: ["a: network: all"] },
    message: "2.0.0 waits for rights",
  });
  t.match(decideDeployment(facts({ holds, paused: true })), { reason: "rights" });
  t.match(
    decideDeployment(facts({ holds: [{ ...holds[0]!, identity: null }] })),
    { reason: "rights" },
    "unknown bytes",
  );
  t.match(decideDeployment(facts({ holds, identity: "others" })), { do: "deploy" });
  t.match(decideDeployment(facts({ holds, version: "2.0.1" })), { do: "deploy" });
  t.match(decideDeployment(facts({ holds, asked: "check" })), { reason: "rights" }, "a check consents to nothing");
  for (const asked of ["retry", "redeploy"] as const)
    t.match(decideDeployment(facts({ holds, asked })), { do: "deploy" }, asked);
  t.end();
});

for (const reason of ["policy", "application", "settings"] as const)
  t.test(`a version held for its ${reason} stays out until it is looked at again, or a person checks`, (t) => {
    const holds = [held(reason)];
    t.same(decideDeployment(facts({ holds })), {
      ...{ do: "hold", version: "2.0.0", reason, message: `2.0.0 waits for ${reason}` },
    });
    t.match(decideDeployment(facts({ holds: [held(reason, { identity: null })] })), { reason }, "unknown bytes");
    t.match(decideDeployment(facts({ holds, identity: "others" })), { do: "deploy" });
    t.match(decideDeployment(facts({ holds, version: "2.0.1" })), { do: "deploy", version: "2.0.1" });
    for (const asked of ["check", "retry", "redeploy"] as const)
      t.match(decideDeployment(facts({ holds, asked })), { do: "deploy", version: "2.0.0" }, asked);
    const asked = "check";
    t.match(decideDeployment(facts({ holds, asked, paused: true })), { reason: "paused" }, "a check ends no pause");
    t.match(decideDeployment(facts({ holds, asked, quarantine: [bad("2.0.0")] })), { reason: "quarantined" });
    t.same(decideDeployment(facts({ holds, asked, running: "2.0.0" })), { do: "nothing" });
    t.end();
  });

t.test("what a policy refused by one kit is looked at again when another one brings it", (t) => {
  const [first, second] = ["2026-11-01T00:00:00.000Z", "2026-10-01T00:00:00.000Z"];
  const isNewKit = true;
  const brought = (kitMadeAt: string | null, holds: Hold[]) => {
    const known = facts({ holds });
    return decideDeployment({ ...known, isNewKit, latest: { ...known.latest, kitMadeAt } });
  };
  const holds = [held("policy", { kitMadeAt: first }) as Hold];
  t.match(brought(first, holds), { do: "hold", reason: "policy" });
  t.match(brought(second, holds), { do: "deploy", version: "2.0.0" }, "though it was made before the refused one");
  t.match(brought(null, holds), { do: "deploy" }, "or when a hub is asked");
  t.match(brought(first, [held("policy") as Hold]), { do: "deploy" }, "and a kit after a hub");
  t.match(brought(second, [held("application", { kitMadeAt: first }) as Hold]), { reason: "application" });
  const runs = facts({ holds, running: "2.0.0" });
  const accepts = (kitMadeAt: string) => decideDeployment({ ...runs, isNewKit, latest: { ...runs.latest, kitMadeAt } });
  t.same(accepts(first), { do: "nothing" });
  t.match(accepts(second), { do: "deploy", reinstall: false }, "a newer kit of what runs is accepted");
  t.end();
});

t.test("of several reasons the first is told, and one that a check passes over hides no other", (t) => {
  const holds = [held("policy"), held("rights")];
  t.match(decideDeployment(facts({ holds })), { reason: "policy" });
  t.match(decideDeployment(facts({ holds, asked: "check" })), { reason: "rights" });
  t.end();
});

t.test("a pause holds every deployment that nobody asks for", (t) => {
  t.match(decideDeployment(facts({ paused: true })), { do: "hold", version: "2.0.0", reason: "paused" });
  t.match(decideDeployment(facts({ paused: true, asked: "redeploy" })), { do: "deploy" });
  t.same(decideDeployment(facts({ paused: true, running: "2.0.0" })), { do: "nothing" }, "there is nothing to hold");
  fc.assert(
    fc.property(
      anyFacts,
      (given) => !(given.paused && !isForced(given.asked) && decideDeployment(given).do === "deploy"),
    ),
  );
  t.end();
});
