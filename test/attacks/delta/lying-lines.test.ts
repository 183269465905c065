import t from "tap";
import { complete, forgedDelta, putLine, twoVersions } from "../../support/forged/delta-trees.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

t.test("well-formed lines that make another tree than the manifest's are refused", async (t) => {
  const folder = temporaryFolder(t);
  const { to, base, header } = await twoVersions(folder, { "plugins/demo/a": "1" }, { "plugins/demo/a": "2" });
  const delta = await forgedDelta(folder, to, [header, putLine("plugins/demo/a", "3", { member: 1 })], {
    "bytes/1": "3",
  });
  await t.rejects(complete(folder, delta, base, "1.1.0"), { code: "digest_mismatch" });
});

t.test("a manifest among the lines does not pass for the artifact's own", async (t) => {
  const folder = temporaryFolder(t);
  const { to, base, header } = await twoVersions(folder, { "plugins/demo/a": "1" }, { "plugins/demo/a": "2" });
  const lines = [header, putLine("manifest.json", "{}", { member: 1 }), putLine("plugins/demo/a", "2", { member: 2 })];
  const delta = await forgedDelta(folder, to, lines, { "bytes/1": "{}", "bytes/2": "2" });
  await t.rejects(complete(folder, delta, base, "1.1.0"), { code: "digest_mismatch" });
});
