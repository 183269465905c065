import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { INSTALL, sourceOf } from "../../../support/host/given-source.ts";
import { plant } from "../../../support/host/project-root.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

t.test(
  "a plugin installed by hand is adopted with its data, also when the release ships data of its own",
  async (t) => {
    const root = temporaryFolder(t);
    await plant(root, { "plugins/a/version": "by hand", "plugins/a/data/precious.db": "precious" });
    const files = {
      "plugins/a/version": "1.0.0",
      "plugins/a/data/seed.txt": "seed",
      "plugins/a/data/precious.db": "x",
    };
    const warnings: string[] = [];
    const run = (version: string) =>
      deploy(
        sourceOf(version, INSTALL, { files }),
        { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" } },
        (event) => void (event.event === "warning" && warnings.push(event.message)),
      );
    t.match(await run("1.0.0"), { outcome: "deployed" });
    const read = (path: string): Promise<string> => readFile(join(root, path), "utf8");
    t.equal(await read("plugins/a/version"), "1.0.0");
    t.equal(await read("plugins/a/data/precious.db"), "precious", "the host's own file goes before");
    t.equal(await read("plugins/a/data/seed.txt"), "seed");
    t.match(await run("2.0.0"), { outcome: "deployed" }, "and later runs work");
    t.match(warnings, [/^The host keeps its own plugins\/a\/data\/precious\.db: /], "and what it kept is told once");
    t.equal(warnings.length, 1);
  },
);

t.test("a plugin's own file where the release ships a folder is left alone, and stops nothing", async (t) => {
  const root = temporaryFolder(t);
  await plant(root, { ".sealift/data/plugins/a/models": "a file of the plugin" });
  const files = { "plugins/a/version": "1.0.0", "plugins/a/data/models/m.bin": "m", "plugins/a/data/other": "o" };
  const warnings: string[] = [];
  const result = await deploy(
    sourceOf("1.0.0", INSTALL, { files }),
    { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" } },
    (event) => void (event.event === "warning" && warnings.push(event.message)),
  );
  t.match(result, { outcome: "deployed" });
  t.equal(await readFile(join(root, "plugins/a/data/models"), "utf8"), "a file of the plugin");
  t.equal(await readFile(join(root, "plugins/a/data/other"), "utf8"), "o");
  t.match(warnings, [/plugins\/a\/data\/models was left out/]);
});

t.test("what a release ships as data never reaches the host before the switch", async (t) => {
  const root = temporaryFolder(t);
  await mkdir(join(root, "plugins"));
  await writeFile(join(root, "plugins/a"), "a file that is in the way");
  const files = { "plugins/a/version": "1.0.0", "plugins/a/data/seed.txt": "seed" };
  const options = { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" as const } };
  t.match(await deploy(sourceOf("1.0.0", INSTALL, { files }), options, () => {}), { error: { code: "id_taken" } });
  await t.rejects(readFile(join(root, ".sealift/data/plugins/a/seed.txt")), { code: "ENOENT" });
});
