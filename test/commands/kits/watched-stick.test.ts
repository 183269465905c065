// Holds: a watch takes kits from a stick that comes and goes (lib/agent/watch/kit-poll.ts)
import { cp, mkdir, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { targetName } from "../../../lib/contract/target.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { readFollowedRoot } from "../../../lib/releases/trust-roots.ts";
import { heldKey, publicKey, rootChain } from "../../support/forged/roots.ts";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";
import { trustAt } from "../../support/hub/trust.ts";

for (const kind of ["project", "plugin"] as const)
  t.test(`a watch follows the sticks of a ${kind}`, async (t) => {
    const { folder, target, root, make, copy } = await offlineSite(t, kind);
    const stick = join(folder, "stick");
    const secrets = { api_key_file: undefined, deployment_credential_file: undefined };
    const options = { ...target.options, ...secrets, source: "stick", host_key_file: "host.key", host_id: "pier-7" };
    const entry = { target: target.name, project_root: root, ...options };
    await writeFile(join(folder, "watch.yaml"), JSON.stringify({ targets: [entry] }));
    const once = async () => {
      const { result, code, stderr, events } = await sealift(folder, ["watch", "--config", "watch.yaml", "--once"]);
      const [turn] = (result["targets"] ?? []) as Record<string, unknown>[];
      return { turn, code, stderr, events };
    };
    t.match(await once(), { turn: { outcome: "unpublished" }, code: 0 }, "there is no stick");
    await mkdir(stick);
    t.match(await once(), { turn: { outcome: "unpublished" }, code: 0 }, "and none with a kit");
    await rm(stick, { recursive: true });

    await target.publish("1.0.0");
    const first = await make("first");
    await cp(first, stick, { recursive: true });
    t.match(await once(), { turn: { outcome: "deployed", version: "1.0.0" }, code: 0 });
    t.equal((await readdir(join(stick, "reports"))).length, 1);
    t.match(await once(), { turn: { outcome: "current" }, code: 0 });
    await rename(stick, join(folder, "away"));
    t.match(await once(), { turn: { outcome: "unpublished" }, code: 0 }, "what runs goes on without the stick");

    await target.publish("1.1.0");
    const second = await make("second");
    await cp(second, stick, { recursive: true });
    const bin = join(stick, "artifact.bin");
    await truncate(bin, 20);
    t.match(await once(), { turn: { outcome: "failed", error: { code: "kit_changed" } } });
    await rm(stick, { recursive: true });
    await copy(second, "stick");
    t.match(await once(), { turn: { outcome: "deployed", version: "1.1.0" } }, "no version was blamed");
    t.equal(await readFile(join(root, target.folder, "version"), "utf8"), "1.1.0");
    await rm(stick, { recursive: true });
    await copy(first, "stick");
    t.match(await once(), { turn: { outcome: "failed", error: { code: "kit_older" } } });
  });

t.test("a newer trust root on a stick is followed, though the version of its kit runs already", async (t) => {
  const { hub, folder, target, root, make, copy } = await offlineSite(t);
  const chain = rootChain();
  const own = await readFile(join(folder, target.options["signer_public_key"]!), "utf8");
  const signer = publicKey(Buffer.from(own.trim(), "hex"));
  const [first, second] = [chain.version(1, [signer]), chain.version(2, [heldKey()])];
  await writeFile(join(folder, "1.root.json"), first);
  await target.publish("1.0.0");
  const { publish } = trustAt(hub);
  t.equal((await publish(first, [target.slug])).status, 201);
  const secrets = { api_key_file: undefined, deployment_credential_file: undefined, signer_public_key: undefined };
  const options = { ...target.options, ...secrets, source: "stick", host_key_file: "host.key", root: "1.root.json" };
  const entry = { target: target.name, project_root: root, host_id: "pier-7", ...options };
  await writeFile(join(folder, "watch.yaml"), JSON.stringify({ targets: [entry] }));
  const once = () => sealift(folder, ["watch", "--config", "watch.yaml", "--once"]);
  const name = targetName({ kind: "project", slug: target.slug });
  const followed = async () => (await readFollowedRoot(layoutOf(root), name))?.version;
  await copy(await make("first"), "stick");
  t.match((await once()).result, { targets: [{ outcome: "deployed" }] });
  t.equal(await followed(), 1);
  t.equal((await publish(second, [target.slug])).status, 201);
  await rm(join(folder, "stick"), { recursive: true });
  t.match((await once()).result, { targets: [{ outcome: "unpublished" }] }, "without a stick no root is brought");
  await copy(await make("second"), "stick");
  const refused = { outcome: "failed", error: { code: "kit_changed" } };
  t.match((await once()).result, { targets: [refused] }, "its version is not accepted by that root");
  t.equal(await followed(), 2, "its signer does not count any more");
});

t.test("a watch of a stick needs the host's key", async (t) => {
  const { folder, target, root } = await offlineSite(t);
  const pinned = { signer_public_key: target.options["signer_public_key"] };
  const entry = { target: target.name, project_root: root, source: "stick", ...pinned };
  await writeFile(join(folder, "watch.yaml"), JSON.stringify({ targets: [entry] }));
  const { code, result } = await sealift(folder, ["watch", "--config", "watch.yaml", "--once"]);
  t.match({ code, result }, { code: 2, result: { error: { message: /--host-key-file is missing/ } } });
});
