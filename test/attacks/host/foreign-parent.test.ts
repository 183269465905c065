/** A folder above the project root that another user can change: that one could put another folder in its place. */
import { chmod, chown, lchown, mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { INSTALL, sourceOf } from "../../support/host/given-source.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const SOMEBODY = 65_534;
const asRoot = { skip: process.getuid?.() === 0 ? false : "only root can give a folder away" };

const deployIn = (projectRoot: string, allowForeignRoot = false) =>
  deploy(
    sourceOf("1.0.0", INSTALL),
    {
      ...DEPLOY_DEFAULTS,
      projectRoot,
      hostId: "host",
      supervisor: { name: "none" },
      durability: "none",
      allowForeignRoot,
    },
    () => {},
  );

t.test("root refuses a project root that another user can replace, and writes nothing there", asRoot, async (t) => {
  const cases: [name: string, change: (above: string) => Promise<void>, says: RegExp][] = [
    ["another user's", (above) => chown(above, SOMEBODY, 0), /above belongs to the user 65534/],
    ["anybody's", (above) => chmod(above, 0o777), /above can be written by any user/],
    [
      "a group's",
      async (above) => {
        await chown(above, 0, SOMEBODY);
        await chmod(above, 0o775);
      },
      /above can be written by the group 65534/,
    ],
  ];
  for (const [name, change, says] of cases) {
    const above = join(temporaryFolder(t), "above");
    const root = join(above, "between", "root");
    await mkdir(root, { recursive: true });
    await change(above);
    t.match(await deployIn(root), { report: null, error: { code: "root_foreign", exitCode: 1, message: says } }, name);
    t.same(await readdir(root), [], name);
    t.match(await deployIn(join(root, "new")), { error: { code: "root_foreign" } }, `${name}, of a root to be made`);
    t.match(await deployIn(root, true), { outcome: "deployed" }, `${name}, where it is allowed`);
  }
});

t.test("root refuses its own folder where anybody may write, and a link of another user to it", asRoot, async (t) => {
  const open = join(temporaryFolder(t), "open");
  await mkdir(open);
  await chmod(open, 0o777);
  t.match(await deployIn(open), { error: { code: "root_foreign", message: /open can be written by any user/ } });

  const folder = temporaryFolder(t);
  await mkdir(join(folder, "sticky"));
  await chmod(join(folder, "sticky"), 0o1777);
  await mkdir(join(folder, "real/root"), { recursive: true });
  const link = join(folder, "sticky/link");
  await symlink("../real", link);
  t.match(await deployIn(join(link, "root")), { outcome: "deployed" }, "root's own link, in a sticky folder");
  await lchown(link, SOMEBODY, SOMEBODY);
  t.match(await deployIn(join(link, "root")), { error: { code: "root_foreign", message: /link belongs to the user/ } });
});

t.test("who has become root by sudo may own the folders above", asRoot, async (t) => {
  const home = join(temporaryFolder(t), "home");
  await mkdir(home);
  await chown(home, SOMEBODY, SOMEBODY);
  process.env.SUDO_UID = String(SOMEBODY);
  t.teardown(() => delete process.env.SUDO_UID);
  t.match(await deployIn(join(home, "host")), { outcome: "deployed" });
  process.env.SUDO_UID = "1000";
  t.match(await deployIn(join(home, "host")), { error: { code: "root_foreign" } });
});
