import t from "tap";
import { complete, forgedDelta, putLine, twoVersions } from "../../support/forged/delta-trees.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const A = { "plugins/demo/a": "1" };

t.test("a delta for another base, project or version is refused", async (t) => {
  const changes: Record<string, (header: ReturnType<typeof JSON.parse>) => void> = {
    "another base version": (header) => (header.base.version = "0.9.0"),
    "another base tree": (header) => (header.base.content_sha256 = "0".repeat(64)),
    "another project": (header) => (header.project_id = "prj_ffffffffffffffffffffffffffffffff"),
    "another version": (header) => (header.version = "2.0.0"),
    "another format": (header) => (header.v = 2),
  };
  for (const [what, change] of Object.entries(changes)) {
    const folder = temporaryFolder(t);
    const { to, base, header } = await twoVersions(folder, A, { "plugins/demo/a": "2" });
    const lied = structuredClone(header);
    change(lied);
    const delta = await forgedDelta(folder, to, [lied, putLine("plugins/demo/a", "2", { member: 1 })], {
      "bytes/1": "2",
    });
    await t.rejects(complete(folder, delta, base, "1.1.0"), { code: "delta_invalid" }, what);
  }
});
