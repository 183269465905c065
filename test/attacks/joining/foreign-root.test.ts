import { chown, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { Join } from "../../../commands/joining/join.ts";
import { joinLine } from "../../../lib/contract/joining/token.ts";
import { startHub } from "../../support/hub/harness.ts";
import { invited } from "../../support/hub/joining.ts";
import { runHere } from "../../support/programs/run-here.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** Folders of another user, who could lead root elsewhere, or read the secrets that it puts there. */

const SOMEBODY = 65_534;
const asRoot = { skip: process.getuid?.() === 0 ? false : "only root can give a folder away" };

for (const whose of ["project root", "folder for the files"])
  t.test(`root joins with no ${whose} of another user, and asks no hub before`, asRoot, async (t) => {
    const hub = await startHub(t);
    const { at, invite, signers, list } = await invited(hub);
    const folder = temporaryFolder(t);
    process.env["XDG_CONFIG_HOME"] = folder;
    process.env["SEALIFT_TOKEN"] = joinLine((await invite()).token, signers);
    const [root, out] = [join(folder, "root"), join(folder, "out")];
    for (const each of [root, out]) await mkdir(each);
    await chown(whose === "project root" ? root : out, SOMEBODY, SOMEBODY);
    const words = ["join", hub.url, "--yes", "--host-id", "a", "--out", out, "--project-root", root];
    t.match(await runHere([Join], words), { code: 1, stderr: /root_foreign[^]*belongs to the user 65534/ });
    t.strictSame([await readdir(out), await list()], [[], []]);
    t.match((await hub.call("GET", `${at}/host-invites`)).body.items, [{ used: 0 }]);
  });
