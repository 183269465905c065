import t from "tap";
import { complete, forgedDelta, putLine, twoVersions } from "../../support/forged/delta-trees.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const BEFORE = { "plugins/demo/a": "0123456789", "plugins/demo/b": "other" };

t.test("copies of what the base lacks, beyond its files, or of other bytes are refused", async (t) => {
  const cases: Record<string, object> = {
    "a file that the base lacks": putLine("plugins/demo/c", "x", { base: "plugins/demo/absent" }),
    "a path outside of the base": putLine("plugins/demo/c", "x", { base: "../../../etc/passwd" }),
    "another file's bytes": putLine("plugins/demo/c", "0123456789", { base: "plugins/demo/b" }),
    "a range that begins behind the end": putLine("plugins/demo/c", "x", { base: "plugins/demo/a", pieces: [[10, 1]] }),
    "a range that ends behind the end": putLine("plugins/demo/c", "89?", { base: "plugins/demo/a", pieces: [[8, 3]] }),
    "an offset beyond any file": putLine("plugins/demo/c", "x", { base: "plugins/demo/a", pieces: [[2 ** 53 - 2, 1]] }),
    "pieces without a base": putLine("plugins/demo/c", "x", { pieces: [[0, 1]] }),
    "pieces that are shorter than the file": putLine("plugins/demo/c", "0123", {
      base: "plugins/demo/a",
      pieces: [[0, 3]],
    }),
    "the right length and other bytes": putLine("plugins/demo/c", "xxx", { base: "plugins/demo/a", pieces: [[0, 3]] }),
    "new bytes without a member": putLine("plugins/demo/c", "01x", { base: "plugins/demo/a", pieces: [[0, 2], 1] }),
  };
  for (const [what, line] of Object.entries(cases)) {
    const folder = temporaryFolder(t);
    const { to, base, header } = await twoVersions(folder, BEFORE, { ...BEFORE, "plugins/demo/c": "x" });
    const delta = await forgedDelta(folder, to, [header, line]);
    await t.rejects(complete(folder, delta, base, "1.1.0"), { code: "delta_invalid" }, what);
  }
});
