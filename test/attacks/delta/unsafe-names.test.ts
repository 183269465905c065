import { existsSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { complete, forgedDelta, putLine, twoVersions } from "../../support/forged/delta-trees.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

t.test("names that would leave the tree, or that some systems hold equal, are refused as in any archive", async (t) => {
  const names: Record<string, string> = {
    "../planted": "member_unsafe",
    "plugins/../../planted": "member_unsafe",
    "/planted": "member_unsafe",
    "plugins/demo/A": "member_duplicate",
    "plugins\\planted": "member_unsafe",
    "zz/con": "member_unsafe",
  };
  for (const [name, code] of Object.entries(names)) {
    const folder = temporaryFolder(t);
    const { to, base, header } = await twoVersions(folder, { "plugins/demo/a": "1" }, { "plugins/demo/a": "2" });
    const delta = await forgedDelta(folder, to, [header, putLine(name, "x", { member: 1 })], { "bytes/1": "x" });
    await t.rejects(complete(folder, delta, base, "1.1.0"), { code }, name);
    t.notOk(existsSync(join(folder, "planted")));
  }
});
