/** A kit was ended at the hub, and then its host is stolen with the stick: until its end the host opens it. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { hostLine } from "../../../lib/contract/settings/host-line.ts";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";
import { commandLine } from "../../support/programs/command-line.ts";

t.test("host remove names each kit that the host can open, and none of an earlier host of its name", async (t) => {
  const { hub, target, made, folder } = await offlineSite(t);
  await target.publish("1.0.0");
  await writeFile(join(folder, "admin.key"), hub.adminKey, { mode: 0o600 });
  const asking = ["--hub-url", hub.url, "--api-key-file", "admin.key"];
  const kitOf = async (name: string, more: string[] = []) => (await made(name, more)).result["kit"] as string;
  const remove = async (...more: string[]) =>
    (await sealift(folder, ["host", "remove", target.name, "pier-7", ...more, ...asking])).result;
  const ended = await kitOf("ended");
  const live = await kitOf("live");
  t.equal((await sealift(folder, ["kit", "end", target.name, ended, ...asking])).code, 0);
  t.strictSame((await remove("--dry-run"))["kits"], [live, ended]);
  const removing = ["host", "remove", target.name, "pier-7", ...asking];
  const said = await commandLine(removing, { cwd: folder, env: { PATH: process.env["PATH"]!, HOME: folder } });
  t.match(said.stderr, /ended at the hub, opens on a host until \d/);
  const line = hostLine(hostKeyOf(newHostSeed()));
  const anew = await kitOf("anew", ["--host", `pier-7=${line}`]);
  t.strictSame((await remove())["kits"], [anew]);
});
