// Holds: which hosts at a hub are taken into a roll (lib/fleet/admission.ts)
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import t from "tap";
import { makeCard } from "../../../lib/artifact/sealed/card.ts";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { publicKeyOf } from "../../../lib/artifact/signatures/ed25519.ts";
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
