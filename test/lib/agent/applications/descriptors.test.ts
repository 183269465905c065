// Holds: what an application's descriptor must be (lib/agent/applications/descriptors.ts)
import { chmod, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { arrivingApplications, descriptorsIn } from "../../../../lib/agent/applications/descriptors.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

t.test("an application has a descriptor, and it is a file", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "apps/web/app.yaml");
  const missing = { code: "app_invalid", message: /it is missing, or no file/ };
  await t.rejects(descriptorsIn(folder, ["web"]), missing);
  await mkdir(file, { recursive: true });
  await t.rejects(descriptorsIn(folder, ["web"]), missing, "a folder of its name");
  await rm(file, { recursive: true });
  await writeFile(file, "command: []\n");
  await t.rejects(descriptorsIn(folder, ["web"]), { code: "app_invalid", message: /command/ });
  await writeFile(file, "command: [node, server.js]\n");
  t.match((await descriptorsIn(folder, ["web"])).get("web"), { command: ["node", "server.js"] });
});

t.test("a program in its folder is a file that its owner may execute", async (t) => {
  const folder = temporaryFolder(t);
  const program = join(folder, "apps/web/run");
  await mkdir(join(folder, "apps/web"), { recursive: true });
  await writeFile(join(folder, "apps/web/app.yaml"), "command: [./run]\n");
  const refused = { code: "app_invalid", message: /command: run / };
  await symlink("/bin/sh", program);
  await t.rejects(arrivingApplications(folder, ["web"]), refused, "no link");
  await rm(program);
  await writeFile(program, "");
  await chmod(program, 0o655);
  await t.rejects(arrivingApplications(folder, ["web"]), refused);
  await chmod(program, 0o744);
  t.ok((await arrivingApplications(folder, ["web"])).has("web"));
});
