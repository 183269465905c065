/** Folders that another user can change: a plugin's live data, and a project root that root is asked to deploy into. */
import { chown, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { GIVEN_TARGET, INSTALL, sourceOf } from "../../support/host/given-source.ts";
import { plant } from "../../support/host/project-root.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const options = (root: string) => ({
  ...DEPLOY_DEFAULTS,
  projectRoot: root,
  hostId: "host",
  supervisor: { name: "none" as const },
});
const files = { "plugins/a/version": "1", "plugins/a/data/models/evil": "evil", "plugins/a/data/seed": "seed" };

t.test("seeding follows no link that a plugin put into its data", async (t) => {
  const root = temporaryFolder(t);
  const victim = temporaryFolder(t);
  await plant(root, { ".sealift/data/plugins/a/own": "own" });
  await symlink(victim, join(root, ".sealift/data/plugins/a/models"));
  await symlink(join(victim, "created"), join(root, ".sealift/data/plugins/a/seed"));
  const result = await deploy(sourceOf("1.0.0", INSTALL, { files }), options(root), () => {});
  t.match(result, { outcome: "deployed" });
  t.same(await readdir(victim), [], "nothing was written where the links lead");
});

t.test("a link in place of a plugin's whole data is not followed either", async (t) => {
  const root = temporaryFolder(t);
  const victim = temporaryFolder(t);
  await mkdir(join(root, ".sealift/data/plugins"), { recursive: true });
  await symlink(victim, join(root, ".sealift/data/plugins/a"));
  t.match(await deploy(sourceOf("1.0.0", INSTALL, { files }), options(root), () => {}), { status: "failed" });
  t.same(await readdir(victim), []);
});

t.test(
  "root refuses a project root of another user, unless it is told otherwise",
  { skip: process.getuid?.() === 0 ? false : "only root can give a folder away" },
  async (t) => {
    const root = temporaryFolder(t);
    await writeFile(join(root, "file"), "theirs");
    await chown(root, 65534, 65534);
    const run = (allowForeignRoot: boolean) =>
      deploy(sourceOf("1.0.0", INSTALL), { ...options(root), allowForeignRoot }, () => {});
    const victim = temporaryFolder(t);
    await mkdir(join(root, ".sealift"));
    for (const name of ["reports", "outbox", "state"]) await symlink(victim, join(root, ".sealift", name));
    t.match(await run(false), { report: null, error: { code: "root_foreign", exitCode: 1 } });
    t.same(await readdir(victim), [], "the report of that is not written where their links lead");
    await rm(join(root, ".sealift"), { recursive: true });

    await mkdir(join(root, ".sealift/state"), { recursive: true });
    await writeFile(join(victim, "file"), "the victim's");
    await symlink(join(victim, "file"), join(root, `.sealift/state/${GIVEN_TARGET}.lock.holder`));
    t.match(await run(true), { outcome: "deployed" });
    t.equal(await readFile(join(root, "plugins/a/version"), "utf8"), "1.0.0");
    t.equal(await readFile(join(victim, "file"), "utf8"), "the victim's", "the lock's note follows no link");
  },
);
