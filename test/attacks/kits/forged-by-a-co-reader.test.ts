/** Somebody who can open a version, as everybody can a public plugin, makes a kit of it with what policies want. */
// Holds: whose word a policy takes about a version on a stick (lib/agent/policy/hub-keys.ts)
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { newDek, sealed } from "../../../lib/artifact/project/cipher.ts";
import { type HostKey, hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { openKitTerms } from "../../../lib/artifact/sealed/kit.ts";
import { hostLine } from "../../../lib/contract/settings/host-line.ts";
import { remadeKit } from "../../support/forged/kits.ts";
import { offlineSite } from "../../support/host/offline-site.ts";

const OLD = { created_at: "2020-01-01T00:00:00.000Z", approved_at: "2020-01-01T00:00:00.000Z" };
const FAR_AHEAD = { made_at: "2030-01-01T00:00:00.000Z", ends_at: "2031-01-01T00:00:00.000Z" };

t.test("whoever can install a public plugin and carries the stick meets no policy with it", async (t) => {
  const site = await offlineSite(t, "plugin");
  const { hub, target, make, copy, deploy, hubKey, kitText, writeKit, key, folder } = site;
  await target.publish("1.0.0");
  const published = Date.now();
  const good = await make("good");
  const json = { name: "carrier", owner: "carrier", scopes: ["deploy"] };
  const carrier = (await hub.call("POST", "/devkeys/api-keys", { json })).body["key"] as string;
  const zip = await hub.call("GET", `/app/marketplace/plugins/${target.slug}/install?version=1.0.0`, { key: carrier });
  t.equal(zip.status, 200, "everybody with a key of the hub may install it");

  const policy = ["--policy", "policy.yaml"];
  await writeFile(join(folder, "policy.yaml"), `min_age: 24h\nhub_keys: [${await hubKey()}]\n`);
  t.match((await deploy(good, policy)).result, { error: { code: "policy_refused", message: /old enough from/ } });

  // From here on with the stick, the ZIP, and the line of the host, which stands on the stick.
  const text = await kitText(good);
  const dek = newDek();
  const bytes = Buffer.concat(await Array.fromAsync(sealed(once(zip.bytes), dek)));
  const change = {
    ...{ facts: { ...(text["facts"] as object), ...OLD }, ...FAR_AHEAD },
    digest: createHash("sha256").update(bytes).digest("hex"),
  };
  const line = { x25519: key.x25519, fingerprint: key.fingerprint } as HostKey;
  const made = remadeKit(text, change, line, { key: dek.toString("base64") });
  const kit = await copy(good, "forged");
  await writeFile(join(kit, "artifact.bin"), bytes);
  const signature = made["hub_signature"] as { key: string };
  for (const rules of ["min_age: 24h", "approved: true", "sbom: true"])
    for (const keys of ["", `hub_keys: [${await hubKey()}]`, `hub_keys: ["${"ab".repeat(32)}"]`]) {
      await writeFile(join(folder, "policy.yaml"), `${rules}\n${keys}\n`);
      await writeKit(kit, made);
      const { code, message } = (await deploy(kit, policy)).result["error"] as { code: string; message: string };
      t.match({ code, message }, { code: "policy_refused", message: signature.key }, `${rules} ${keys}: ${message}`);
    }
  await writeFile(join(folder, "policy.yaml"), `min_age: 24h\nhub_keys: [${await hubKey()}]\n`);
  await writeKit(kit, { ...made, hub_signature: text["hub_signature"] });
  t.match((await deploy(kit, policy)).result, { error: { code: "kit_changed", message: /the hub's signature/ } });
  await writeKit(kit, { ...made, hub_signature: { ...signature, key: await hubKey() } });
  t.match((await deploy(kit, policy)).result, { error: { code: "kit_changed", message: /the hub's signature/ } });
  await sleep(Math.max(0, published + 1100 - Date.now()));
  await writeFile(join(folder, "policy.yaml"), `min_age: 1s\nhub_keys: [${await hubKey()}]\n`);
  t.match((await deploy(good, policy)).result, { outcome: "deployed" }, "nor does it keep later kits out");
});

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield await Promise.resolve(bytes);
}

t.test("another host of a project's kit meets no policy of this one", async (t) => {
  const { target, make, copy, deploy, hubKey, kitText, writeKit, key, folder } = await offlineSite(t);
  await target.publish("1.0.0");
  const other = hostKeyOf(newHostSeed());
  const both = ["--host", `pier-7=${hostLine(key)}`, "--host", `pier-8=${hostLine(other)}`];
  const good = await make("good", both);
  const text = await kitText(good);
  const { key: dek } = openKitTerms((text["hosts"] as Record<string, string>)[other.fingerprint]!, other);
  const line = { x25519: key.x25519, fingerprint: key.fingerprint } as HostKey;
  const facts = { ...(text["facts"] as object), ...OLD };
  const kit = await copy(good, "forged");
  await writeKit(kit, remadeKit(text, { facts }, line, { key: dek }));
  const policy = ["--policy", "policy.yaml"];
  await writeFile(join(folder, "policy.yaml"), `min_age: 24h\nhub_keys: [${await hubKey()}]\n`);
  t.match((await deploy(kit, policy)).result, { error: { code: "policy_refused", message: /kit key/ } });
  t.match((await deploy(good, policy)).result, { error: { code: "policy_refused", message: /old enough from/ } });
  await writeFile(join(folder, "policy.yaml"), "sbom: true\n");
  const ofSigner = (await deploy(good, policy)).result;
  t.match(
    ofSigner,
    { error: { code: "policy_refused", message: /no statement of the kind sbom/ } },
    "its signer's word",
  );
});
