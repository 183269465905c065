// Holds: what an application's descriptor must be (lib/agent/applications/descriptors.ts)
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { descriptorsIn } from "../../../../lib/agent/applications/descriptors.ts";
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
