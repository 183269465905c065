// Holds: whose word a policy takes about a version on a stick (lib/agent/policy/hub-keys.ts)
/** A forged kit of the next version is put in first: it is to keep the watch from the genuine one that follows. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { openKitTerms } from "../../../lib/artifact/sealed/kit.ts";
import { remadeKit } from "../../support/forged/kits.ts";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";

t.test(
  "a genuine kit of a version counts at once after a forged one, and a policy needs no rule for that",
  async (t) => {
    const { target, root, make, copy, hubKey, kitText, writeKit, key, folder } = await offlineSite(t);
    await writeFile(join(folder, "policy.yaml"), `hub_keys: [${await hubKey()}]\n`);
    const secrets = { api_key_file: undefined, deployment_credential_file: undefined };
    const options = {
      ...target.options,
      ...secrets,
      source: "stick",
      host_key_file: "host.key",
      policy: "policy.yaml",
    };
    const entry = { target: target.name, project_root: root, host_id: "pier-7", ...options };
    await writeFile(join(folder, "watch.yaml"), JSON.stringify({ targets: [entry] }));
    const put = async (kit: string) => {
      await rm(join(folder, "stick"), { recursive: true, force: true });
      await copy(kit, "stick");
      const { result } = await sealift(folder, ["watch", "--config", "watch.yaml", "--once"]);
      return (result["targets"] as Record<string, unknown>[])[0];
    };
    for (const version of ["1.0.0", "1.1.0"]) {
      await target.publish(version);
      const good = await make(`good-${version}`);
      const text = await kitText(good);
      const { key: dek } = openKitTerms((text["hosts"] as Record<string, string>)[key.fingerprint]!, key);
      const forged = await copy(good, `forged-${version}`);
      const change = { made_at: new Date(Date.now() + 60_000).toISOString() };
      await writeKit(forged, remadeKit(text, change, key, { key: dek }));
      const hint = /counts with a kit that is made afterwards/;
      const refused = { outcome: "held", error: { code: "policy_refused", message: /hub_keys/, hint } };
      t.match(await put(forged), refused, version);
      t.match(await put(forged), refused, "the same one stays held");
      t.match(await put(good), { outcome: "deployed", version }, "and the next stick is looked at");
    }
    const back = await sealift(folder, ["rollback", target.name, "--project-root", root]);
    t.match(
      back.result,
      { outcome: "deployed", version: "1.0.0" },
      "what is kept needs no hub: no rule asks for facts",
    );
  },
);
