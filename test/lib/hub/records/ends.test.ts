import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import t from "tap";
import { startStaging } from "../../../support/hub/staging.ts";

const OWN = { status: 403, body: { code: "own_approval" } };

t.test("keys and staged versions of 0.1.0 have the actors that it noted as their ends", async (t) => {
  const { hub, newKey, upload, approve, approver } = await startStaging(t);
  const [stager, child, run] = [await newKey(["publish"]), await newKey(["publish"]), await newKey(["publish"])];
  for (const version of ["1.0.0", "1.1.0", "1.2.0"]) await upload(stager.key, version, "true");
  await upload(run.key, "1.3.0", "true");
  const database = new DatabaseSync(join(hub.dataDir, "hub.sqlite"), { timeout: 10_000 });
  t.teardown(() => database.close());
  database.exec("update versions set ends = null; update api_keys set ends = null");
  const old = database.prepare("update api_keys set acts_for = ?, trusted_by = ? where id = ?");
  old.run(`key:${stager.id}`, null, child.id);
  old.run("run:1", `key:${stager.id}`, run.id);
  for (const key of [stager.key, child.key, run.key]) t.match(await approve(key, "1.0.0"), OWN);
  t.equal((await approve(approver.key, "1.0.0")).status, 200);
  t.match(await approve(stager.key, "1.3.0"), OWN, "whoever has trusted the workflow");
  database.prepare("delete from api_keys where id = ?").run(stager.id);
  for (const key of [child.key, run.key]) t.match(await approve(key, "1.1.0"), OWN, "the key that staged it is gone");
  t.equal((await approve(approver.key, "1.1.0")).status, 200);
});
