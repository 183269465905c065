// Only in test:all: random cases.
import { hash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { ArchiveJudge, fuzzArchives } from "../../scripts/fuzz/judge-archive.ts";
import { libraryListing } from "../../scripts/fuzz/library-readers.ts";
import { READER_PROGRAMS } from "../../scripts/fuzz/program-readers.ts";
import { Random } from "../../scripts/fuzz/random.ts";
import { forgedTar } from "../support/forged/artifact.ts";
import { forgedZip } from "../support/forged/zip.ts";
import { needs } from "../support/programs/optional.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const skip = needs(...READER_PROGRAMS);

t.test("every reader takes what is unpacked in the same way", { skip }, async (t) => {
  const { accepted, found } = await fuzzArchives({ count: 400, seed: 1 }, 12);
  for (const { kind, seed, why } of found) t.fail(`seed ${seed}, a ${kind}: ${why}`);
  t.ok(accepted > 60, `${accepted} accepted`);
});

t.test("the libraries that are asked read sound archives", async (t) => {
  const folder = temporaryFolder(t);
  const sha256 = hash("sha256", "text", "hex");
  const archives = {
    tar: forgedTar([{ name: "./a/" }, { name: "./a/b", content: "text" }]),
    zip: forgedZip({ entries: [{ name: "a/" }, { name: "a/b", content: "text", method: 8 }] }),
  };
  for (const kind of ["tar", "zip"] as const) {
    const file = join(folder, `case.${kind}`);
    writeFileSync(file, archives[kind]);
    t.same((await libraryListing(kind, file))?.listing, { a: null, "a/b": sha256 }, kind);
  }
});

t.test("what was found once is refused", { skip }, async (t) => {
  const folder = join(import.meta.dirname, "fixtures");
  await using judge = new ArchiveJudge();
  for (const name of readdirSync(folder)) {
    const kind = /\.(tar|zip)$/.exec(name)?.[1] as "tar" | "zip" | undefined;
    if (kind === undefined) continue;
    t.same(await judge.judge(kind, readFileSync(join(folder, name)), new Random(1), false), { accepted: false }, name);
  }
});
