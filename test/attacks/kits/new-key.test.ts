/** A host has another key now: its reports are not lost, and old ones do not fail each submission. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { hostLine } from "../../../lib/contract/settings/host-line.ts";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";

t.test("a way back before the first kit of the new key is reported once that kit has come", async (t) => {
  const { hub, folder, target, make, deploy, root } = await offlineSite(t);
  const asking = ["--hub-url", hub.url, "--api-key-file", target.options["api_key_file"]!];
  const collect = (stick: string) =>
    sealift(folder, ["kit", "collect", stick, "--host-key-file", "host.key", "--project-root", root]);
  for (const version of ["1.0.0", "1.1.0"]) {
    await target.publish(version);
    t.match((await deploy(await make(version))).result, { outcome: "deployed" });
  }
  t.match(await collect("1.1.0"), { code: 0 });
  t.match((await sealift(folder, ["kit", "submit", "1.1.0", ...asking])).result, { taken: 2, refused: 0 });
  // host.key is lost: the page removes the host, and sets it up anew. Meanwhile somebody goes back.
  const seed = newHostSeed();
  await writeFile(join(folder, "host.key"), `${seed.toString("hex")}\n`, { mode: 0o600 });
  t.equal((await sealift(folder, ["rollback", target.name, "--project-root", root])).code, 0);
  await mkdir(join(folder, "desk"));
  t.match(await collect("desk"), { code: 0 });
  const at = `/devkeys/projects/${target.slug}/joined-hosts/pier-7`;
  t.equal((await hub.call("DELETE", at)).status, 204);
  const next = await make("next", ["--host", `pier-7=${hostLine(hostKeyOf(seed))}`, "--version", "1.0.0"]);
  t.match((await deploy(next, ["--version", "1.0.0"])).result, { status: "success" });
  t.match(await collect("next"), { code: 0 });
  const submitted = await sealift(folder, ["kit", "submit", "next", ...asking]);
  t.comment(submitted.stdout);
  t.match(submitted.result, { taken: 2 }, "the way back, and the deployment after it");
  t.equal((await sealift(folder, ["kit", "submit", "next", ...asking])).code, 0, "and nothing is wrong from then on");
});
