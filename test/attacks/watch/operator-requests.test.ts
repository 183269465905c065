import { chown, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { requestAction } from "../../../lib/agent/watch/operator-requests.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** The user of a watch plants links where root will ask something: `sudo sealift watch pause …`. */

t.test("a link in the place of a request is not written through", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  const victim = join(temporaryFolder(t), "passwd");
  await writeFile(victim, "precious");
  const folder = join(layout.sealift, "requests");
  await mkdir(folder, { recursive: true });
  await symlink(victim, join(folder, "plugin-a.pause"));
  await requestAction(layout, "plugin-a", "pause");
  t.equal(await readFile(victim, "utf8"), "precious");
});

t.test("a link in the place of the folder is refused", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  const elsewhere = temporaryFolder(t);
  await mkdir(layout.sealift);
  await symlink(elsewhere, join(layout.sealift, "requests"));
  const before = await stat(elsewhere);
  await t.rejects(requestAction(layout, "plugin-a", "pause"), { code: "root_unusable" });
  t.equal((await stat(elsewhere)).uid, before.uid);
});

t.test(
  "what root asks first can be taken away by the user who watches",
  { skip: process.getuid?.() !== 0 && "needs root" },
  async (t) => {
    const layout = layoutOf(temporaryFolder(t));
    await mkdir(layout.sealift);
    await chown(layout.sealift, 65_534, 65_534);
    await requestAction(layout, "plugin-a", "pause");
    const folder = join(layout.sealift, "requests");
    t.equal((await stat(folder)).uid, 65_534);
  },
);
