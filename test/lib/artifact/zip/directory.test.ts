import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { type ScanOptions, scanZip } from "../../../../lib/artifact/zip/directory.ts";
import { type ForgedEntry, type ForgedZip, forgedZip, LINK } from "../../../support/forged/zip.ts";

function scan(t: Test, archive: ForgedZip | readonly ForgedEntry[] | Buffer, options: Partial<ScanOptions> = {}) {
  const file = join(t.testdir({}), "archive.zip");
  writeFileSync(file, Buffer.isBuffer(archive) ? archive : forgedZip(archive));
  return scanZip(file, { limits: DEFAULT_LIMITS, symlinks: "refuse", ...options });
}

t.test("the index says where each file's bytes are, and what they are", async (t) => {
  const entries: ForgedEntry[] = [
    { name: "top/" },
    { name: "top/run.sh", content: "#!/bin/sh\n", mode: 0o100755 },
    { name: "./top/data.bin", content: Buffer.alloc(1000, 1), method: 8, descriptor: true },
  ];
  const bytes = forgedZip({ entries, comment: "commit" });
  const index = await scan(t, bytes);
  t.match(index, { folders: ["top"], skippedLinks: [], topFolder: "top", bytes: 1010 });
  t.match(index.files, [
    { path: "top/run.sh", executable: true, method: 0, uncompressedSize: 10 },
    { path: "top/data.bin", executable: false, method: 8, uncompressedSize: 1000 },
  ]);
  const [script] = index.files;
  t.equal(bytes.toString("latin1", script!.dataOffset, script!.dataOffset + 10), "#!/bin/sh\n");
});

t.test("the top folder is the one that holds everything", async (t) => {
  const shapes: [names: string[], top: string | undefined][] = [
    [["a/x"], "a"],
    [["a/x", "a/b/y"], "a"],
    [["a/", "a/x"], "a"],
    [["x"], undefined],
    [["a/x", "b/y"], undefined],
    [["a/x", "b/"], undefined],
    [["a/x", "y"], undefined],
    [["a/x", "ab/y"], undefined],
  ];
  for (const [names, top] of shapes)
    t.equal(
      (
        await scan(
          t,
          names.map((name) => ({ name })),
        )
      ).topFolder,
      top,
      names.join(),
    );
});

t.test("folders are listed once, each behind the one that it lies in, named or implied by a file", async (t) => {
  const names = ["a/b/c/x", "a/", "a/d/", "e/y", "a/b/z"];
  const { folders } = await scan(
    t,
    names.map((name) => ({ name })),
  );
  t.strictSame(folders, ["a", "a/b", "a/b/c", "a/d", "e"]);
});

t.test("links are refused, or listed and left out", async (t) => {
  const entries = [
    { name: "a", content: "x" },
    { name: "b", content: "a", mode: LINK },
  ];
  await t.rejects(scan(t, entries), { code: "member_type", message: /"b"/ });
  const index = await scan(t, entries, { symlinks: "skip" });
  t.strictSame(index.skippedLinks, ["b"]);
  t.strictSame(
    Array.from(index.files, ({ path }) => path),
    ["a"],
  );
});

t.test("a file that cannot be read is not called a bad archive", async (t) => {
  const missing = join(t.testdir({}), "missing.zip");
  await t.rejects(scanZip(missing, { limits: DEFAULT_LIMITS, symlinks: "refuse" }), { code: "ENOENT" });
});

t.test("whatever bytes come, the answer is an index or an ArtifactError", async (t) => {
  const whole = forgedZip([
    { name: "top/a.js", content: "some text, some text", method: 8 },
    { name: "top/b.js", content: "x", descriptor: true },
    { name: "top/c.js", content: "y", zip64: true },
  ]);
  const file = join(t.testdir({}), "archive.zip");
  const answers = { index: 0, error: 0 };
  for (let round = 0; round < 1500; round++) {
    const bytes = Buffer.from(whole);
    for (let flips = 1 + (round % 3); flips > 0; flips--)
      bytes[randomBytes(2).readUInt16LE() % bytes.length] = randomBytes(1)[0]!;
    writeFileSync(file, bytes);
    try {
      await scanZip(file, { limits: DEFAULT_LIMITS, symlinks: "refuse" });
      answers.index++;
    } catch (error) {
      answers.error++;
      if ((error as { kind?: string }).kind !== "ArtifactError")
        t.fail(`${bytes.toString("base64")}: ${String(error)}`);
    }
  }
  t.ok(answers.error > 300, JSON.stringify(answers));
});
