import { randomBytes } from "node:crypto";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { DeployPublish } from "../../commands/publishing/deploy-publish.ts";
import { SignerCreate } from "../../commands/publishing/signer-create.ts";
import { createProject, startHub } from "../support/hub/harness.ts";
import { runHere } from "../support/programs/run-here.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

t.test("a publication says once why there is no delta from several versions", async (t) => {
  const folder = temporaryFolder(t);
  process.env["XDG_CONFIG_HOME"] = folder;
  const hub = await startHub(t);
  const project = await createProject(hub);
  Object.assign(process.env, { SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey });
  const source = join(folder, "source");
  await cp(new URL("../../examples/harbour", import.meta.url), source, { recursive: true });
  const keys = join(folder, "keys");
  await runHere([SignerCreate], ["signer", "create", "--out", keys]);
  const plan = join(source, "deployment/install.yaml");
  const example = await readFile(plan, "utf8");
  const publish = async (version: string) => {
    const own = example.replace(/^project_id: .*/m, `project_id: ${project.id}`);
    await writeFile(plan, own.replace(/^version: .*/m, `version: ${version}`));
    // Nothing of it is in an earlier version.
    await writeFile(join(source, "plugins/tide-table/noise.bin"), randomBytes(500_000));
    const options = ["--project-id", project.id, "--version", version, "--signing-key-file", join(keys, "signer.key")];
    return runHere([DeployPublish], ["deploy-publish", source, ...options]);
  };
  for (const version of ["1.0.0", "1.1.0", "1.2.0"]) {
    const ended = await publish(version);
    t.equal(ended.code, 0, ended.stderr);
  }
  const { stderr } = await publish("1.3.0");
  t.match(stderr.match(/^No delta from .*$/gm), [/1\.\d\.0, 1\.\d\.0, 1\.\d\.0: it would not be much smaller/]);
});
