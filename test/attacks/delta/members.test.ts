import t from "tap";
import { complete, forgedDelta, putLine, twoVersions } from "../../support/forged/delta-trees.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const AFTER = { "plugins/demo/a": "2" };

t.test("new bytes that no line names, that are missing, too long or out of order are refused", async (t) => {
  const cases: Record<string, [lines: object[], bytes: Record<string, string>]> = {
    "a member that no line names": [
      [putLine("plugins/demo/a", "2", { member: 1 })],
      { "bytes/1": "2", "bytes/2": "x" },
    ],
    "a file beside the members": [
      [putLine("plugins/demo/a", "2", { member: 1 })],
      { "bytes/1": "2", "other.txt": "x" },
    ],
    "a member that is not there": [[putLine("plugins/demo/a", "2", { member: 1 })], {}],
    "a member that is too long": [[putLine("plugins/demo/a", "2", { member: 1 })], { "bytes/1": "22" }],
    "a member that is too short": [[putLine("plugins/demo/a", "2", { member: 1 })], { "bytes/1": "" }],
    "other bytes than the line says": [[putLine("plugins/demo/a", "2", { member: 1 })], { "bytes/1": "3" }],
    "members out of order": [[putLine("plugins/demo/a", "2", { member: 2 })], { "bytes/1": "1", "bytes/2": "2" }],
    "no source at all": [[putLine("plugins/demo/a", "2")], {}],
  };
  for (const [what, [lines, bytes]] of Object.entries(cases)) {
    const folder = temporaryFolder(t);
    const { to, base, header } = await twoVersions(folder, { "plugins/demo/a": "1" }, AFTER);
    const delta = await forgedDelta(folder, to, [header, ...lines], bytes);
    await t.rejects(complete(folder, delta, base, "1.1.0"), { code: "delta_invalid" }, what);
  }
});
