import t from "tap";
import {
  isTrouble,
  type ListedVersion,
  type Situation,
  whyLine,
  whyNotNewest,
  type WhyReason,
} from "../../../../lib/agent/newest/why.ts";

const listed = (version: string, facts: Partial<ListedVersion> = {}): ListedVersion => ({
  ...{ version, isYanked: false, yankedReason: null, state: undefined, stateReason: null },
  ...facts,
});
const rolling = { name: "rolling", cause: "started", rollout: "rol_1" } as const;
const waves = ["10%", "100%"].map((wave) => ({ wave, hosts: 1, done: 0, failing: 0 }));
const rollout = { state: "running", reason: null, waiting_for: null, open: 1, waves } as const;

/** A host that runs 1.0.0, whose hub gives it 1.1.0, the newest version; a watch has heard of it. */
const HOST: Situation = {
  ...{ target: "plugin:tides", running: "1.0.0", given: "1.1.0", newest: listed("1.1.0") },
  ...{ pin: null, paused: false, heard: "1.1.0" },
};
/** A host that has what the hub gives it. */
const SERVED: Situation = { ...HOST, given: "1.0.0" };
const held = (reason: "quarantined" | "downgrade" | "rights", code?: string) => ({
  held: { version: "1.1.0", reason, message: "Because.", code },
});

t.test("of a version that a policy refuses, a hint names what can be done where it came from", (t) => {
  const refused = { version: "1.1.0", reason: "policy", message: "Because." } as const;
  t.match(whyNotNewest({ ...HOST, held: refused }).hint, /policy check plugin:tides 1\.1\.0 --policy FILE/);
  t.match(whyNotNewest({ ...HOST, held: { ...refused, isByKit: true } }).hint, /^An age comes by itself\./);
  t.end();
});

t.test("each reason is told in one line, with what to do, and as a word for programs", (t) => {
  const cases: [facts: Situation, reason: WhyReason, line: string, isTrouble?: true][] = [
    [{ ...HOST, running: "1.1.0" }, "newest", "runs 1.1.0, the newest version."],
    [
      { ...HOST, running: null, given: null, newest: undefined },
      "unpublished",
      "runs nothing: no version is published.",
    ],
    [
      { ...HOST, given: undefined, newest: undefined, unreachable: { message: "No answer." } },
      "unreachable",
      "runs 1.0.0: the hub cannot be asked: No answer.",
      true,
    ],
    [
      { ...SERVED, newest: undefined, unreachable: { message: "The host was removed." } },
      "unreachable",
      "runs 1.0.0: the hub cannot be asked: The host was removed.",
      true,
    ],
    [
      { ...HOST, pin: { version: "1.0.0", reason: "audit" } },
      "pinned",
      "runs 1.0.0 and not 1.1.0: it is pinned to 1.0.0: audit.",
    ],
    [
      { ...SERVED, newest: listed("1.1.0", { isYanked: true, yankedReason: "loses data." }) },
      "yanked",
      "runs 1.0.0 and not 1.1.0: 1.1.0 was yanked: loses data.",
    ],
    [
      {
        ...SERVED,
        newest: listed("1.1.0", { state: { name: "held", cause: "halted", rollout: "rol_1" }, stateReason: "2 fail" }),
      },
      "held",
      "runs 1.0.0 and not 1.1.0: 1.1.0 is held by rollout rol_1 (halted): 2 fail.",
    ],
    [
      { ...SERVED, newest: listed("1.1.0", { state: rolling }), rollout },
      "wave",
      "runs 1.0.0 and not 1.1.0: this host's wave is not open yet (1 of 2 waves open).",
    ],
    [
      { ...SERVED, newest: listed("1.1.0", { state: rolling }), rollout: { ...rollout, waiting_for: "approval" } },
      "approval",
      "runs 1.0.0 and not 1.1.0: its next wave waits for approval (1 of 2 waves open).",
    ],
    [
      {
        ...SERVED,
        newest: listed("1.1.0", { state: rolling }),
        rollout: { ...rollout, state: "paused", reason: "lunch" },
      },
      "rollout_paused",
      "runs 1.0.0 and not 1.1.0: its rollout is paused: lunch.",
    ],
    [
      { ...SERVED, newest: undefined, next: { version: "1.1.0", at: "2026-01-31T09:00:00Z" } },
      "window",
      "runs 1.0.0 and not 1.1.0: 1.1.0 waits for its window, which opens at 2026-01-31T09:00:00Z.",
    ],
    [{ ...HOST, paused: true }, "paused", "runs 1.0.0 and not 1.1.0: the target is paused."],
    [
      { ...HOST, ...held("quarantined") },
      "quarantined",
      "runs 1.0.0 and not 1.1.0: 1.1.0 is in quarantine: Because.",
      true,
    ],
    [
      { ...HOST, ...held("quarantined", "signer_untrusted") },
      "signer",
      "runs 1.0.0 and not 1.1.0: 1.1.0 is in quarantine: Because.",
      true,
    ],
    [{ ...HOST, ...held("downgrade") }, "downgrade", "runs 1.0.0 and not 1.1.0: Because.", true],
    [{ ...HOST, ...held("rights") }, "rights", "runs 1.0.0 and not 1.1.0: Because.", true],
    [
      { ...HOST, withdrawn: "1.0.0" },
      "withdrawn",
      "runs 1.0.0 and not 1.1.0: 1.0.0 was taken back, and the host goes back at its next check.",
    ],
    [{ ...HOST, deploying: true }, "deploying", "runs 1.0.0 and not 1.1.0: 1.1.0 is being deployed."],
    [
      { ...HOST, clockSeconds: 90 },
      "clock",
      "runs 1.0.0 and not 1.1.0: the clocks of hub and host are 90 seconds apart.",
      true,
    ],
    [
      { ...HOST, error: { code: "trust_changed", message: "Another key." } },
      "signer",
      "runs 1.0.0 and not 1.1.0: its signature was refused: Another key.",
      true,
    ],
    [
      { ...HOST, error: { code: "disk_full", message: "No space." } },
      "failing",
      "runs 1.0.0 and not 1.1.0: the last try failed (disk_full): No space.",
      true,
    ],
    [{ ...HOST, heard: "1.0.0" }, "unheard", "runs 1.0.0 and not 1.1.0: the watch has not heard of 1.1.0 yet.", true],
    [
      { ...HOST, heard: undefined },
      "unheard",
      "runs 1.0.0 and not 1.1.0: no watch runs here that would deploy it.",
      true,
    ],
  ];
  for (const [situation, reason, line, trouble = false] of cases) {
    const why = whyNotNewest(situation);
    t.equal(whyLine(situation, why), `plugin:tides ${line}`);
    t.equal(why.reason, reason, line);
    t.equal(isTrouble(why), trouble, `${reason}: trouble`);
    if (trouble && reason !== "unreachable") t.type(why.hint, "string", `${reason}: what to do`);
  }
  t.end();
});

t.test("of several reasons the one is told that would keep the version away alone", (t) => {
  const reasonOf = (situation: Situation): WhyReason => whyNotNewest(situation).reason;
  t.equal(reasonOf({ ...HOST, pin: { version: "1.0.0" }, paused: true, ...held("quarantined") }), "pinned");
  t.equal(reasonOf({ ...HOST, paused: true, ...held("quarantined") }), "paused");
  t.equal(reasonOf({ ...HOST, pin: { version: "0.9.0" } }), "unheard", "the pinned version itself does not run");
  // What the hub gives comes first: the host lacks that already.
  const behind = { ...HOST, given: "1.0.1", newest: listed("1.1.0", { state: rolling }), rollout };
  t.match(whyNotNewest({ ...behind, paused: true }), { reason: "paused", version: "1.0.1" });
  t.end();
});
