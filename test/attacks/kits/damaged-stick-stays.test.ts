/** A damaged stick stays in the host: each look of the watch would keep a report, and push others out. */
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";

t.test("a damaged stick that stays in is reported once", async (t) => {
  const { folder, target, make, copy, root } = await offlineSite(t);
  const secrets = { api_key_file: undefined, deployment_credential_file: undefined };
  const options = { ...target.options, ...secrets, source: "stick", host_key_file: "host.key", host_id: "pier-7" };
  const entry = { target: target.name, project_root: root, ...options };
  await writeFile(join(folder, "watch.yaml"), JSON.stringify({ targets: [entry] }));
  await target.publish("1.0.0");
  await copy(await make("kit"), "stick");
  const bin = join(folder, "stick/artifact.bin");
  const bytes = await readFile(bin);
  bytes[300]! ^= 1;
  await writeFile(bin, bytes);
  for (let turn = 1; turn <= 3; turn++) {
    const { result } = await sealift(folder, ["watch", "--config", "watch.yaml", "--once"]);
    t.match(result, { targets: [{ outcome: "failed", error: { code: "kit_changed" } }] });
    const reports = await readdir(join(folder, "stick/reports"));
    t.equal(reports.length, 1, `after ${turn} looks`);
  }
  await rm(join(folder, "stick"), { recursive: true });
  const next = await copy(await make("next"), "stick");
  bytes[300]! ^= 3;
  await writeFile(join(next, "artifact.bin"), bytes);
  await sealift(folder, ["watch", "--config", "watch.yaml", "--once"]);
  t.equal((await readdir(join(next, "reports"))).length, 1, "another kit is another finding");
});
