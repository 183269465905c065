// Holds: reports that wait for a stick are collected, also those of a first kit that failed (lib/agent/kit-reports.ts)
import { copyFile, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { remadeKit } from "../../support/forged/kits.ts";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";

t.test("the report of a first kit that failed travels with the next stick", async (t) => {
  const { hub, folder, target, root, key, make, deploy, kitText, writeKit } = await offlineSite(t);
  await target.publish("1.0.0");
  const kit = await make("kit");
  const text = await kitText(kit);
  const signature = Buffer.alloc(64, 3).toString("base64");
  await writeKit(kit, remadeKit(text, { project: { ...(text["project"] as object), signature } }, key));
  await writeFile(join(kit, "reports"), "whatever keeps the stick from taking it");
  t.match((await deploy(kit)).result, { error: { code: "kit_changed", message: /\(signature_invalid\)\.$/ } });
  const collect = (to: string) =>
    sealift(folder, ["kit", "collect", to, "--host-key-file", "host.key", "--project-root", root]);
  t.match((await collect("nowhere")).result, { error: { code: "kit_unwritable", message: /no report: .*[^.]\.$/ } });
  await mkdir(join(folder, "stick"));
  t.match((await collect("stick")).result, { written: 1, known: 0 });
  t.match((await collect("stick")).result, { written: 0, known: 1 });
  const to = ["--hub-url", hub.url, "--api-key-file", target.options["api_key_file"]!];
  t.match((await sealift(folder, ["kit", "submit", "stick", ...to])).result, { taken: 1, refused: 0 });
});

t.test("a folder with a report's name keeps no other report back", async (t) => {
  const { folder, target, root, make, deploy } = await offlineSite(t);
  for (const version of ["1.0.0", "1.1.0"]) {
    await target.publish(version);
    t.match((await deploy(await make(version))).result, { outcome: "deployed" });
  }
  const kept = join(root, `.sealift/kits/project-${target.slug}`);
  const [first] = (await readdir(kept)).filter((name) => name.endsWith(".json"));
  await mkdir(join(kept, `${"0".repeat(16)}.json`));
  await mkdir(join(folder, "stick/reports", first!, "something"), { recursive: true });
  const collect = () =>
    sealift(folder, ["kit", "collect", "stick", "--host-key-file", "host.key", "--project-root", root]);
  t.match((await collect()).result, {
    error: { code: "kit_unwritable", message: new RegExp(`${first!} is a folder`) },
  });
  t.equal((await readdir(join(folder, "stick/reports"))).length, 2, "the other report is there");
  await rm(join(folder, "stick/reports", first!), { recursive: true });
  t.match((await collect()).result, { written: 1, known: 1 });
});

t.test("a folder that is not there is an error, though no report waits", async (t) => {
  const { folder, root } = await offlineSite(t);
  const collect = ["kit", "collect", "nowhere", "--host-key-file", "host.key", "--project-root", root];
  t.match((await sealift(folder, collect)).result, { error: { code: "kit_unwritable" } });
});

t.test("names that differ only by their case are told by name, or taken for one", async (t) => {
  const { hub, folder, target, root, make, deploy } = await offlineSite(t);
  await target.publish("1.0.0");
  const kit = await make("kit");
  t.match((await deploy(kit)).result, { outcome: "deployed" });
  const collect = async (): Promise<object> =>
    (await sealift(folder, ["kit", "collect", kit, "--host-key-file", "host.key", "--project-root", root])).result;
  const to = ["--hub-url", hub.url, "--api-key-file", target.options["api_key_file"]!];
  await mkdir(join(kit, "REPORTS"));
  const both = {
    error: { code: "kit_unreadable", message: /kit has both REPORTS and reports\.$/, hint: /remove the other/ },
  };
  t.match(await collect(), both);
  t.match((await sealift(folder, ["kit", "submit", kit, ...to])).result, both);
  await rm(join(kit, "REPORTS"), { recursive: true });
  const [name] = await readdir(join(kit, "reports"));
  await copyFile(join(kit, "reports", name!), join(kit, "reports", name!.toUpperCase()));
  t.match(await collect(), { written: 0, known: 1 }, "whichever of the two somebody made");
  await writeFile(join(kit, "reports", name!), "a part");
  t.match(await collect(), { written: 1, known: 0 });
  t.match((await sealift(folder, ["kit", "submit", kit, ...to])).result, { taken: 1, known: 1, refused: 0 });
});
