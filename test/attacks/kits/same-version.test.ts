/** A newer kit of the version that runs already keeps older kits out, as every other kit does. */
import { createHash } from "node:crypto";
import { cp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { newDek, sealed } from "../../../lib/artifact/project/cipher.ts";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { hostLine } from "../../../lib/contract/settings/host-line.ts";
import { remadeKit } from "../../support/forged/kits.ts";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";

t.test("a stick that was lost is kept out by a newer kit of the version that runs", async (t) => {
  const { target, make, deploy } = await offlineSite(t);
  await target.publish("1.0.0");
  t.match((await deploy(await make("first"))).result, { outcome: "deployed" });
  await target.publish("1.1.0");
  const lost = await make("lost");
  const newer = await make("newer", ["--version", "1.0.0"]);
  t.match((await deploy(newer)).result, { outcome: "unchanged", status: "success" });
  t.match((await deploy(lost)).result, { error: { code: "kit_older" } }, "the host was given a newer kit");
});

t.test("a watch whose stick has a newer kit of the version that runs keeps older ones out, too", async (t) => {
  const { target, make, copy, folder, root } = await offlineSite(t);
  const secrets = { api_key_file: undefined, deployment_credential_file: undefined };
  const options = { ...target.options, ...secrets, source: "stick", host_key_file: "host.key", host_id: "pier-7" };
  const entry = { target: target.name, project_root: root, ...options };
  await writeFile(join(folder, "watch.yaml"), JSON.stringify({ targets: [entry] }));
  const once = async () => (await sealift(folder, ["watch", "--config", "watch.yaml", "--once"])).result;
  await target.publish("1.0.0");
  await copy(await make("first"), "stick");
  t.match(await once(), { targets: [{ outcome: "deployed" }] });
  await target.publish("1.1.0");
  const lost = await make("lost");
  const newer = await make("newer", ["--version", "1.0.0"]);
  const swap = async (kit: string) => {
    await rm(join(folder, "stick"), { recursive: true });
    await cp(kit, join(folder, "stick"), { recursive: true });
  };
  await swap(newer);
  t.match(await once(), { targets: [{ outcome: "unchanged" }] }, "it is verified once");
  t.match(await once(), { targets: [{ outcome: "current" }] });
  await swap(lost);
  t.match(await once(), { targets: [{ outcome: "failed", error: { code: "kit_older" } }] });
});

t.test("what happens after a kit of the version that runs is reported under that kit", async (t) => {
  const { hub, folder, target, make, deploy, root } = await offlineSite(t);
  for (const version of ["1.0.0", "1.1.0"]) {
    await target.publish(version);
    t.match((await deploy(await make(version))).result, { outcome: "deployed" });
  }
  // host.key is lost, and the host set up anew: its operators make a kit of what runs there.
  const seed = newHostSeed();
  await writeFile(join(folder, "host.key"), `${seed.toString("hex")}\n`, { mode: 0o600 });
  const next = await make("next", ["--host", `pier-7=${hostLine(hostKeyOf(seed))}`]);
  t.match((await deploy(next)).result, { outcome: "unchanged" });
  t.equal((await sealift(folder, ["rollback", target.name, "--project-root", root])).code, 0);
  const collect = ["kit", "collect", next, "--host-key-file", "host.key", "--project-root", root];
  t.equal((await sealift(folder, collect)).code, 0);
  const asking = ["--hub-url", hub.url, "--api-key-file", target.options["api_key_file"]!];
  const { result, stdout } = await sealift(folder, ["kit", "submit", next, ...asking]);
  t.match(result, { refused: 0 }, stdout);
});

t.test("whoever cannot open the version that runs makes no kit of it that keeps others out", async (t) => {
  const { target, key, make, copy, deploy, kitText, writeKit } = await offlineSite(t);
  await target.publish("1.0.0");
  const good = await make("good");
  t.match((await deploy(good)).result, { outcome: "deployed" });
  // The stick, and the host's line: enough to seal terms to it, with a key of one's own.
  const text = await kitText(good);
  const { size_bytes: size } = text["project"] as { size_bytes: number };
  const own = newDek();
  const noughts = (async function* () {
    yield Buffer.alloc(size - 28);
  })();
  const bytes = Buffer.concat(await Array.fromAsync(sealed(noughts, own)));
  const facts = { digest: createHash("sha256").update(bytes).digest("hex"), made_at: "2096-01-01T00:00:00.000Z" };
  const ahead = { ...facts, ends_at: "2096-01-08T00:00:00.000Z" };
  const forged = await copy(good, "forged");
  await writeKit(forged, remadeKit(text, ahead, key, { key: own.toString("base64") }));
  await writeFile(join(forged, "artifact.bin"), bytes);
  t.match((await deploy(forged)).result, { error: { code: "kit_changed", message: /signature_invalid/ } });
  await target.publish("1.1.0");
  t.match((await deploy(await make("next"))).result, { outcome: "deployed", version: "1.1.0" });
});
