import { existsSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { listingDigest } from "../../../lib/artifact/delta/delta-lines.ts";
import { complete, forgedDelta, putLine, twoVersions, writeVersion } from "../../support/forged/delta-trees.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const BEFORE = { "plugins/demo/a": "1", "plugins/demo/kept": "kept", "plugins/demo/empty": null };
const AFTER = { ...BEFORE, "plugins/demo/a": "2" };
const PUT = putLine("plugins/demo/a", "2", { member: 1 });
const BYTES = { "bytes/1": "2" };

t.test("a delta that carries the manifest of another version, project or tree is of no use", async (t) => {
  const folder = temporaryFolder(t);
  const { to, base, header } = await twoVersions(folder, BEFORE, AFTER);
  const { manifest } = to.project;
  const contentSha256 = manifest.content_sha256;
  for (const change of [{ version: "9.9.9" }, { project_id: "prj_ffffffffffffffffffffffffffffffff" }]) {
    const other = { ...manifest, ...change };
    const project = { ...to.project, manifest: other, manifestBytes: Buffer.from(JSON.stringify(other)) };
    const delta = await forgedDelta(temporaryFolder(t), { ...to, project }, [header, PUT], BYTES);
    const completed = complete(temporaryFolder(t), delta, base, { version: "1.1.0" });
    await t.rejects(completed, { code: "delta_invalid" }, JSON.stringify(change));
  }
  const honest = await forgedDelta(folder, to, [header, PUT], BYTES);
  const otherTree = complete(temporaryFolder(t), honest, base, { version: "1.1.0", contentSha256: "0".repeat(64) });
  await t.rejects(otherTree, { code: "delta_invalid" }, "the hub names another tree");
  await complete(temporaryFolder(t), honest, base, { version: "1.1.0", contentSha256 });
});

t.test("a delta may change no executable flag and no empty folder that its first line does not cover", async (t) => {
  const executable = { ...PUT, executable: true };
  const cases: Record<string, object[]> = {
    "a flag of a new file": [executable],
    "a flag of a file of the base": [
      PUT,
      { ...putLine("plugins/demo/kept", "kept"), executable: true, base: "plugins/demo/kept" },
    ],
    "an empty folder that goes": [PUT, { drop: "plugins/demo/empty" }],
    "an empty folder that comes": [PUT, { folder: "plugins/demo/more" }],
  };
  for (const [what, lines] of Object.entries(cases)) {
    const folder = temporaryFolder(t);
    const { to, base, header } = await twoVersions(folder, BEFORE, AFTER);
    const delta = await forgedDelta(folder, to, [header, ...lines], BYTES);
    await t.rejects(complete(folder, delta, base, "1.1.0"), { code: "delta_invalid" }, what);
    t.notOk(existsSync(join(folder, "completed")), "nothing was made");
  }
});

t.test("the listing digest tells executable files and empty folders apart", async (t) => {
  const digestOf = async (more: object, executable: string[] = []): Promise<string> => {
    const version = await writeVersion(temporaryFolder(t), "1.0.0", { files: { ...AFTER, ...more }, executable });
    return listingDigest(version.entries);
  };
  const digests = [
    await digestOf({}),
    await digestOf({}, ["plugins/demo/a"]),
    await digestOf({ "plugins/demo/other": null }),
    await digestOf({ "plugins/demo/a": "3" }),
  ];
  t.equal(new Set(digests).size, digests.length);
  t.equal(await digestOf({}), digests[0]);
});
