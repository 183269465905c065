import t from "tap";
import { complete, forgedDelta, putLine, twoVersions } from "../../support/forged/delta-trees.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const BEFORE = { "plugins/demo/a": "0123456789", "plugins/demo/b": "other" };

t.test("copies of what the base lacks, beyond its files, or of other bytes are refused", async (t) => {
  const cases: Record<string, [content: string, more: object]> = {
    "a file that the base lacks": ["x", { base: "plugins/demo/absent" }],
    "a path outside of the base": ["x", { base: "../../../etc/passwd" }],
    "another file's bytes": ["0123456789", { base: "plugins/demo/b" }],
    "a range that begins behind the end": ["x", { base: "plugins/demo/a", pieces: [[10, 1]] }],
    "a range that ends behind the end": ["89?", { base: "plugins/demo/a", pieces: [[8, 3]] }],
    "an offset beyond any file": ["x", { base: "plugins/demo/a", pieces: [[2 ** 53 - 2, 1]] }],
    "pieces without a base": ["x", { pieces: [[0, 1]] }],
    "pieces that are shorter than the file": [
      "0123",
      {
        base: "plugins/demo/a",
        pieces: [[0, 3]],
      },
    ],
    "the right length and other bytes": ["xxx", { base: "plugins/demo/a", pieces: [[0, 3]] }],
    "new bytes without a member": ["01x", { base: "plugins/demo/a", pieces: [[0, 2], 1] }],
  };
  for (const [what, [content, more]] of Object.entries(cases)) {
    const folder = temporaryFolder(t);
    // The tree is the one that the line asks for: its source alone is wrong.
    const { to, base, header } = await twoVersions(folder, BEFORE, { ...BEFORE, "plugins/demo/c": content });
    const delta = await forgedDelta(folder, to, [header, putLine("plugins/demo/c", content, more)]);
    await t.rejects(complete(folder, delta, base, "1.1.0"), { code: "delta_invalid" }, what);
  }
});
