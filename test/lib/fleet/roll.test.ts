// Holds: a host stands in the roll as it is read again, whoever has put it there (lib/fleet/roll.ts)
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { hostFingerprint } from "../../../lib/artifact/sealed/host-key.ts";
import { Roll } from "../../../lib/fleet/roll.ts";

t.test("a roll that is read and written again has the same lines, so that git shows none", async (t) => {
  const file = join(t.testdir({}), "fleet.lock");
  const project = "prj_0123456789abcdef0123456789abcdef";
  const keys = { x25519: "1".repeat(64), ed25519: "2".repeat(64) };
  const roll = await Roll.read(file, project);
  // As `settings accept` puts one: facts of a key, and then what a person says.
  const facts = { ...keys, fingerprint: hostFingerprint(keys), terms: null, number: 0 };
  roll.put({ ...facts, name: "pier-7", named: true, labels: { env: "prod" } });
  await roll.save();
  const written = readFileSync(file, "utf8");

  const again = await Roll.read(file, project);
  const [host] = again.hosts();
  again.put({ ...host!, number: 1 });
  await again.save();
  t.equal(readFileSync(file, "utf8"), written.replace('"number": 0', '"number": 1'));
});
