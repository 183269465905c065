/** docs/kits.md: `source` stands "for one target or for all"; a stick has the kit of one of them. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";

t.test("a stick for one target of a watch is no failure of the other", async (t) => {
  const { folder, target, other, make, copy, root } = await offlineSite(t);
  const secrets = { api_key_file: undefined, deployment_credential_file: undefined };
  const entry = (of: typeof target, at: string) => ({
    ...{ target: of.name, ...of.options, ...secrets, project_root: at, host_id: "pier-7" },
  });
  await mkdir(join(folder, "second"));
  const targets = [entry(target, root), entry(other, join(folder, "second"))];
  await writeFile(join(folder, "watch.yaml"), JSON.stringify({ source: "stick", host_key_file: "host.key", targets }));
  const once = () => sealift(folder, ["watch", "--config", "watch.yaml", "--once"]);
  t.match(await once(), { code: 0 }, "there is no stick");
  await target.publish("1.0.0");
  await copy(await make("kit"), "stick");
  const told = async () => {
    const { code, result, events } = await once();
    const warnings = events.filter(({ event }) => event === "warning");
    return { code, targets: result["targets"], warnings };
  };
  const of = `${target.name}: nothing is to do here`;
  t.match(await told(), {
    ...{ code: 0, targets: [{ outcome: "deployed" }, { outcome: "unpublished" }] },
    warnings: [{ target: other.name, message: new RegExp(of) }],
  });
  t.match(await told(), { code: 0, targets: [{ outcome: "current" }, { outcome: "unpublished" }], warnings: [] });
});
