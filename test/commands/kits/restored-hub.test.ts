// Holds: which reports of kits a hub takes that was restored to before them (lib/hub/features/kits/take-report.ts)
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { backupHub, restoreHub } from "../../../lib/hub/backup/backup.ts";
import { FEATURES } from "../../../lib/hub/features.ts";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";
import { startHub } from "../../support/hub/harness.ts";

t.test("a hub that was restored to before a kit says so of its report, and takes those of others", async (t) => {
  const { hub, folder, target, root, make, made, deploy, kitText } = await offlineSite(t);
  await target.publish("1.0.0");
  const first = await make("first");
  t.match((await deploy(first)).result, { outcome: "deployed" });
  await backupHub({ hooks: FEATURES, dataDir: hub.dataDir }, join(folder, "backup"));
  await target.publish("1.1.0");
  const lost = await make("lost");
  t.match((await deploy(lost)).result, { outcome: "deployed", version: "1.1.0" });
  await hub.hub.close();

  const dataDir = join(folder, "restored");
  await restoreHub(join(folder, "backup"), { hooks: FEATURES, dataDir }, { trust: "unsigned" });
  for (const name of ["admin.key", "kek.json"]) await copyFile(join(hub.dataDir, name), join(dataDir, name));
  const restored = await startHub(t, { dataDir, rateLimits: false });
  const to = ["--hub-url", restored.url, "--api-key-file", target.options["api_key_file"]!];
  const submit = (stick: string) => sealift(folder, ["kit", "submit", stick, ...to]);
  const again = await submit(lost);
  t.match(again.result, { taken: 0, known: 0, refused: 1 });
  t.match(again.events[0], { state: "refused", code: "kit_unknown", message: /after the backup/ });
  t.equal(again.code, 4);

  await mkdir(join(folder, "stick"));
  const collect = ["kit", "collect", "stick", "--host-key-file", "host.key", "--project-root", root];
  t.match((await sealift(folder, collect)).result, { written: 2 });
  t.match((await submit("stick")).result, { taken: 1, known: 0, refused: 1 });
  t.match((await submit(first)).result, { taken: 0, known: 1 }, "whoever brings it a second time");

  // The hub has no version 1.1.0 any more: the next kit is of the older one, and made later than the lost one.
  const next = await made("next", ["--hub-url", restored.url]);
  t.equal(next.code, 0, next.stderr + next.stdout);
  const { hub_signature: before } = await kitText(first);
  const { hub_signature: after } = await kitText(join(folder, "next"));
  t.match(
    after,
    { key: (before as { key: string }).key },
    "policies name one key of a hub, which a backup brings back",
  );
  const back = ["--version", "1.0.0"];
  t.match((await deploy(join(folder, "next"), back)).result, { outcome: "deployed", version: "1.0.0" });
  t.match((await deploy(lost)).result, { error: { code: "kit_older" } });
});
