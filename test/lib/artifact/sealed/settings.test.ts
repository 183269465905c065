// Holds: who can read the settings of a host, and whose it takes (lib/artifact/sealed/settings.ts)
import t from "tap";
import { hostKeyOf, newHostSeed } from "../../../../lib/artifact/sealed/host-key.ts";
import { openSettings, readOutcome, sealSettings, signOutcome } from "../../../../lib/artifact/sealed/settings.ts";
import { publicKeyOf } from "../../../../lib/artifact/signatures/ed25519.ts";

const PROJECT = "prj_harbour00001";
const [key, other] = [hostKeyOf(newHostSeed()), hostKeyOf(newHostSeed())];
const [seed, strange] = [newHostSeed(), newHostSeed()];
const hex = (secret: Uint8Array): string => Buffer.from(publicKeyOf(secret)).toString("hex");
const reader = { key, project: PROJECT, operators: [hex(seed)] };

/** Settings that are as they should be but for what a test changes, sealed to a key. */
const sealed = (change: { to?: string; project?: string } = {}, by = seed, to = key): Buffer =>
  sealSettings(
    {
      ...{ project: PROJECT, to: key.fingerprint, number: 1, made_at: "2026-01-01T00:00:00Z" },
      ...{ apps: { web: { A: "one" } }, ...change },
    },
    to.x25519,
    by,
  ).sealed;

t.test("a host takes settings that its operator has made for it", (t) => {
  t.match(openSettings(sealed(), reader).signed, { number: 1, apps: { web: { A: "one" } } });
  for (const [what, bytes, code] of [
    ["sealed to another host", sealed({}, seed, other), "sealed_invalid"],
    ["those of another host, sealed to this one", sealed({ to: other.fingerprint }), "settings_other"],
    ["those of another project", sealed({ project: "prj_harbour00002" }), "settings_other"],
    ["those of an operator who is not pinned", sealed({}, strange), "settings_operator"],
  ] as const)
    t.throws(() => openSettings(bytes, reader), { code }, what);
  t.end();
});

t.test("what became of settings counts as said by the host alone, in its project", (t) => {
  const said = {
    ...{ project: PROJECT, to: key.fingerprint, number: 1, digest: "ab".repeat(32), at: "2026-01-01T00:00:00Z" },
    ...{ state: "applied" as const, code: null, ignored: [] },
  };
  const host = { ed25519: key.ed25519, fingerprint: key.fingerprint, project: PROJECT };
  t.match(readOutcome(signOutcome(said, key), host), { number: 1, state: "applied" });
  for (const [what, text] of [
    ["signed by another host", signOutcome(said, other)],
    ["about another host", signOutcome({ ...said, to: other.fingerprint }, key)],
    ["about another project", signOutcome({ ...said, project: "prj_harbour00002" }, key)],
  ] as const)
    t.throws(() => readOutcome(text, host), { code: "outcome_invalid" }, what);
  t.end();
});
