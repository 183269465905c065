import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { scanZip } from "../../../../lib/artifact/zip/directory.ts";
import { requireSecondOpinion } from "../../../../lib/artifact/zip/second-reader.ts";
import { checkArchive } from "../../../../lib/hub/publications/archive-check.ts";
import { type ForgedEntry, type ForgedZip, forgedZip, LINK } from "../../../support/forged/zip.ts";

const ENTRIES: readonly ForgedEntry[] = [
  { name: "top/", mode: 0o040755 },
  { name: "top/link", content: "a.js", mode: LINK },
  { name: "top/a.js", content: "some text, some text", method: 8 },
  { name: "./top/b.js", content: "x", descriptor: true },
  { name: "top/c.js", content: "y", zip64: true },
  { name: "top/empty" },
];

/** Scans an archive, and asks for the second opinion of another one in its place. */
async function opinion(t: Test, scanned: ForgedZip["entries"] | ForgedZip, read: Buffer | undefined): Promise<void> {
  const file = join(t.testdir({}), "archive.zip");
  const archive = forgedZip(scanned);
  writeFileSync(file, archive);
  const index = await scanZip(file, { limits: DEFAULT_LIMITS, symlinks: "skip" });
  writeFileSync(file, read ?? archive);
  await requireSecondOpinion(file, index);
}

t.test("a sound archive of any form is the same to both readers", async (t) => {
  await opinion(t, ENTRIES, undefined);
  await opinion(t, { entries: ENTRIES, zip64: true, comment: "a comment" }, undefined);
  await opinion(t, { entries: ENTRIES, prefix: Buffer.from("#!/bin/sh\n") }, undefined);
  // macOS writes UTF-8 without saying so: the names are the same bytes.
  await opinion(t, [{ name: "日本/x", content: "é", flags: 0 }], undefined);
});

t.test("other names, sizes, bytes or places are refused, and so is what the second reader cannot read", async (t) => {
  const changed = (at: number, change: Partial<ForgedEntry>): Buffer =>
    forgedZip(ENTRIES.map((entry, index) => (index === at ? { ...entry, ...change } : entry)));
  const others: Record<string, Buffer> = {
    "another name": changed(3, { name: "top/B.js" }),
    "another link": changed(1, { name: "top/Link" }),
    "another folder": changed(0, { name: "pot/" }),
    "another size": changed(2, { content: "some text" }),
    "other bytes of one size": changed(3, { content: "z" }),
    "another method": changed(3, { method: 8 }),
    "another place": forgedZip({ entries: ENTRIES, prefix: Buffer.from("x") }),
    "another order": forgedZip([...ENTRIES.slice(0, 3), ENTRIES[4]!, ENTRIES[3]!, ENTRIES[5]!]),
    "one more": forgedZip([...ENTRIES, { name: "top/more" }]),
    "one less": forgedZip(ENTRIES.slice(0, -1)),
    "no link": forgedZip(ENTRIES.filter(({ mode }) => mode !== LINK)),
    "no archive": Buffer.from("this is not an archive at all, but it is long enough"),
    "half an archive": forgedZip(ENTRIES).subarray(0, 200),
  };
  for (const [what, read] of Object.entries(others))
    await t.rejects(opinion(t, ENTRIES, read), { kind: "ArtifactError", code: "zip_ambiguous" }, what);
});

t.test("the hub refuses an archive that only one of both readers can read", async (t) => {
  // So many entries stand for the number in a ZIP64 record, which this archive has not.
  const entries = Array.from({ length: 0xffff }, (_, index): ForgedEntry => ({ name: `f${index}`, content: "x" }));
  const folder = t.testdir({});
  mkdirSync(join(folder, "hub"));
  const file = join(folder, "hub", "archive.zip");
  writeFileSync(file, forgedZip(entries));
  const index = await scanZip(file, { limits: DEFAULT_LIMITS, symlinks: "refuse" });
  t.equal(index.files.length, 0xffff);
  await t.rejects(checkArchive(file, "service"), { kind: "ArtifactError", code: "zip_ambiguous" });
});
