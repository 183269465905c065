// Only in test:all: each of its archives is published, and refused by a host, 4 s of a processor.
import t from "tap";
import { complete, forgedDelta, putLine, twoVersions } from "../../support/forged/delta-trees.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const put = (path: string, content: string, member: number) => putLine(path, content, { member });

t.test("lines that are repeated, unsorted, contradicting or malformed are refused", async (t) => {
  const lists: Record<string, (object | string)[]> = {
    "one path twice": [put("plugins/demo/a", "2", 1), put("plugins/demo/a", "2", 2)],
    "out of order": [put("plugins/demo/b", "2", 1), put("plugins/demo/a", "2", 2)],
    "put and dropped": [put("plugins/demo/a", "2", 1), { drop: "plugins/demo/a" }],
    "a drop of what the base lacks": [{ drop: "plugins/demo/absent" }],
    "a file below a file that stays": [put("plugins/demo/a/inside", "2", 1)],
    "two forms in one line": [{ ...put("plugins/demo/a", "2", 1), drop: "plugins/demo/a" }],
    "an unknown key": [{ ...put("plugins/demo/a", "2", 1), owner: 0 }],
    "no JSON": ["{"],
    "a size that is not a number": [{ ...put("plugins/demo/a", "2", 1), size: "2" }],
    "a negative size": [{ ...put("plugins/demo/a", "2", 1), size: -1 }],
  };
  for (const [what, lines] of Object.entries(lists)) {
    const folder = temporaryFolder(t);
    const { to, base, header } = await twoVersions(folder, { "plugins/demo/a": "1" }, { "plugins/demo/a": "2" });
    const delta = await forgedDelta(folder, to, [header, ...lines], { "bytes/1": "2", "bytes/2": "2" });
    await t.rejects(complete(folder, delta, base, "1.1.0"), { code: /^(delta_invalid|member_duplicate)$/ }, what);
  }
});
