import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { zipFolder } from "../../scripts/quickstart/zip-folder.ts";
import { World } from "../support/host/world.ts";
import { needs } from "../support/programs/optional.ts";

const run = promisify(execFile);
const withPrograms = { skip: needs("curl", "openssl", "unzip") };
t.test("the routes of surface A behave with nothing but curl, openssl and unzip", withPrograms, async (t) => {
  await using world = await World.make();
  const folder = world.path("shell/shell-1.0.0");
  await mkdir(join(folder, "src"), { recursive: true });
  await writeFile(join(folder, "plugin.yaml"), "name: shell\nversion: 1.0.0\n");
  await writeFile(join(folder, "src/main.js"), "export default 1\n");
  await zipFolder(folder, "shell-1.0.0", world.path("shell/a.zip"));
  const { stdout } = await run("bash", [new URL("../support/programs/surface-a.sh", import.meta.url).pathname], {
    cwd: world.path("shell"),
    env: { PATH: process.env.PATH, HUB: world.hubUrl, KEY: world.admin.SEALIFT_API_KEY! },
  });
  const lines = stdout.trim().split("\n");
  for (const line of lines) t.match(line, /^ok /, line);
  t.ok(lines.length >= 20, `${lines.length} checks`);
});
