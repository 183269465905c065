/** A stranger who may install a public plugin makes a kit of it for the line of somebody else's host. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { hostLine } from "../../../lib/contract/settings/host-line.ts";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";

t.test("the owner of a host hears that it has deployed from a stranger's kit", async (t) => {
  const { hub, target, deploy, key, folder, root } = await offlineSite(t, "plugin");
  await target.publish("1.0.0");
  const asking: Record<string, string[]> = {};
  for (const owner of ["site", "stranger"]) {
    const json = { name: owner, owner, scopes: ["deploy", "read", "report"] };
    const secret = (await hub.call("POST", "/devkeys/api-keys", { json })).body["key"] as string;
    await writeFile(join(folder, `${owner}.key`), secret, { mode: 0o600 });
    asking[owner] = ["--hub-url", hub.url, "--api-key-file", `${owner}.key`];
  }
  const make = async (name: string, host: string): Promise<string> => {
    const words = ["kit", "make", target.name, "--out", name, "--host", `${host}=${hostLine(key)}`];
    t.equal((await sealift(folder, [...words, ...asking[name.split("-")[0]!]!])).code, 0);
    return join(folder, name);
  };
  t.match((await deploy(await make("site", "pier-7"))).result, { outcome: "deployed" });
  await target.publish("1.1.0");
  t.match((await deploy(await make("stranger", "x"))).result, { version: "1.1.0" });
  const collect = ["kit", "collect", "site", "--host-key-file", "host.key", "--project-root", root];
  t.equal((await sealift(folder, collect)).code, 0);
  const submitted = await sealift(folder, ["kit", "submit", "site", ...asking["site"]!]);
  const reports = submitted.events.filter(({ event }) => event === "report");
  const [theirs] = reports.filter(({ state }) => state === "refused");
  t.match(theirs, { code: "kit_unknown", message: /is another owner's, .*A newer one of your own/ });
  t.match(submitted.result, { taken: 1, refused: 1 });
  t.match((await deploy(await make("site-again", "pier-7"))).result, { outcome: "unchanged" });
  t.match((await deploy(join(folder, "stranger"))).result, { error: { code: "kit_older" } }, "theirs is shut out");
});
