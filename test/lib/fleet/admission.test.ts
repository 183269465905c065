// Holds: which hosts at a hub are taken into a roll (lib/fleet/admission.ts)
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import t, { type Test } from "tap";
import { makeCard } from "../../../lib/artifact/sealed/card.ts";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { signOutcome } from "../../../lib/artifact/sealed/settings.ts";
import type { NewTerms } from "../../../lib/artifact/sealed/terms.ts";
import { publicKeyOf } from "../../../lib/artifact/signatures/ed25519.ts";
import type { InviteTerms } from "../../../lib/contract/settings/texts.ts";
import { judged } from "../../../lib/fleet/admission.ts";
import { Roll } from "../../../lib/fleet/roll.ts";
import { DOUBLE_PROJECT } from "../../support/hub/settings-double.ts";
import { termsOf } from "../../support/hub/settings-fleet.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

t.test("of two keys under one name, and of one key under two names, none is taken", async (t) => {
  const seed = randomBytes(32);
  const operator = Buffer.from(publicKeyOf(seed)).toString("hex");
  const terms = termsOf(seed, { uses: 9 });
  const nothing = { number: null, to: null, uploaded_at: null, uploaded_by: null, outcome: null, outcome_at: null };
  const rowOf = (name: string, key = hostKeyOf(newHostSeed())) => {
    const card = makeCard({ project: DOUBLE_PROJECT, name }, key, { ...terms.secret, digest: terms.digest });
    return { host_id: name, card, terms: terms.text, ...nothing };
  };
  const twice = hostKeyOf(newHostSeed());
  const rows = [rowOf("pier-7"), rowOf("pier-7"), rowOf("pier-8", twice), rowOf("pier-9", twice), rowOf("quay-1")];
  const file = join(temporaryFolder(t), "fleet.lock");
  const roll = await Roll.read(file, DOUBLE_PROJECT);
  const states = judged(rows, roll, { operator, project: DOUBLE_PROJECT });
  t.strictSame(
    states.map((one) => (one.state === "refused" ? one.error.code : one.state)),
    ["card_invalid", "card_invalid", "card_invalid", "card_invalid", "arrived"],
  );
  for (const one of states) if (one.state === "arrived") roll.put(one.arrival.host);
  await roll.save();
  t.equal((await Roll.read(file, DOUBLE_PROJECT)).hosts().length, 1);
});

const OPERATOR = randomBytes(32);
const JUDGE = { operator: Buffer.from(publicKeyOf(OPERATOR)).toString("hex"), project: DOUBLE_PROJECT };
const NOTHING = { number: null, to: null, uploaded_at: null, uploaded_by: null, outcome: null, outcome_at: null };
const emptyRoll = (t: Test): Promise<Roll> => Roll.read(join(temporaryFolder(t), "fleet.lock"), DOUBLE_PROJECT);

/** A new host that came with terms of the operator. */
function newcomer(name: string, terms: NewTerms) {
  const key = hostKeyOf(newHostSeed());
  const card = makeCard({ project: DOUBLE_PROJECT, name }, key, { ...terms.secret, digest: terms.digest });
  return { key, row: { host_id: name, card, terms: terms.text, ...NOTHING } };
}

t.test("a host has to be confirmed unless its invite was for it alone", async (t) => {
  const roll = await emptyRoll(t);
  for (const [terms, named] of [
    [{ uses: 1, hosts: ["pier-7"] }, true],
    [{ uses: 1 }, false],
    [{ uses: 2, hosts: ["pier-7", "pier-8"] }, false],
    [{ uses: 2, hosts: ["pier-7"] }, false],
    [{ uses: 1, hosts: ["pier-7", "pier-8"] }, false],
  ] as const) {
    const { row } = newcomer("pier-7", termsOf(OPERATOR, terms as unknown as Partial<InviteTerms>));
    const arrival = { isExpected: named, host: { named } };
    t.match(judged([row], roll, JUDGE), [{ state: "arrived", arrival }], JSON.stringify(terms));
  }
});

t.test("a host that says what cannot be true is refused, and is of the roll only where its key is", async (t) => {
  const roll = await emptyRoll(t);
  const { key, row } = newcomer("pier-7", termsOf(OPERATOR));
  const [arrived] = judged([row], roll, JUDGE);
  const facts = { project: DOUBLE_PROJECT, to: key.fingerprint, number: 5, digest: "ab".repeat(32) };
  const at = new Date().toISOString();
  const outcome = signOutcome({ ...facts, state: "applied", code: null, ignored: [], at }, key);
  const [liar] = judged([{ ...row, outcome }], roll, JUDGE);
  t.match(liar, { state: "refused", error: { code: "outcome_invalid" } });
  t.notOk("host" in liar!);
  if (arrived?.state === "arrived") roll.put(arrived.arrival.host);
  t.match(judged([{ ...row, outcome }], roll, JUDGE), [{ state: "refused", host: { name: "pier-7" } }]);
});

t.test("a host whose invite has ended meanwhile has to be confirmed: nobody can tell when it came", async (t) => {
  const seed = randomBytes(32);
  const operator = Buffer.from(publicKeyOf(seed)).toString("hex");
  const nothing = { number: null, to: null, uploaded_at: null, uploaded_by: null, outcome: null, outcome_at: null };
  const roll = await Roll.read(join(temporaryFolder(t), "fleet.lock"), DOUBLE_PROJECT);
  for (const [expires_at, isExpected] of [
    ["2999-01-01T00:00:00Z", true],
    ["2026-01-01T00:00:00Z", false],
  ] as const) {
    const terms = termsOf(seed, { uses: 1, hosts: ["pier-7"], expires_at });
    const invited = { ...terms.secret, digest: terms.digest };
    const card = makeCard({ project: DOUBLE_PROJECT, name: "pier-7" }, hostKeyOf(newHostSeed()), invited);
    const rows = [{ host_id: "pier-7", card, terms: terms.text, ...nothing }];
    const arrival = { isExpected, host: { named: true } };
    t.match(judged(rows, roll, { operator, project: DOUBLE_PROJECT }), [{ state: "arrived", arrival }], expires_at);
  }
});
