/** A finder of a stick, and a host that its kit is not for, read no byte of the version. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { openKitTerms } from "../../../lib/artifact/sealed/kit.ts";
import { offlineSite } from "../../support/host/offline-site.ts";

t.test("a lost stick tells names, sizes and hosts, and no content", async (t) => {
  const { target, key, make, kitText } = await offlineSite(t);
  const secret = "the tide turns at noon, and nobody may know";
  await target.publish("1.0.0", { "plugins/tides/secret": secret });
  const kit = await make("stick");
  const found = Buffer.concat([await readFile(join(kit, "kit.json")), await readFile(join(kit, "artifact.bin"))]);
  t.notOk(found.includes(secret));
  const text = await kitText(kit);
  const [sealed] = Object.values(text["hosts"] as Record<string, string>);
  const { key: dek } = openKitTerms(sealed!, key);
  t.notOk(found.includes(dek) || found.includes(Buffer.from(dek, "base64")), "nor the key of its bytes");
  for (let stranger = 0; stranger < 5; stranger++)
    t.throws(() => openKitTerms(sealed!, hostKeyOf(newHostSeed())), { code: "sealed_invalid" });
});
