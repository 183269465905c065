// Each format that a release wrote has a vector, and a test that reads it: test/fixtures/README.md.
import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { matchesGlob } from "node:path";
import { constants, zstdDecompressSync } from "node:zlib";
import t from "tap";
import { PAST_RELEASES } from "../support/past/fixture.ts";
import { needs, programFile } from "../support/programs/optional.ts";

const FIXTURES = "test/fixtures";

/** Returns the paths of an archive. */
function pathsIn(release: string): string[] {
  const params = { [constants.ZSTD_d_windowLogMax]: 27 };
  const input = zstdDecompressSync(readFileSync(`${FIXTURES}/sealift-${release}.tar.zst`), { params });
  return execFileSync(programFile("tar"), ["--list", "--file=-"], { input, encoding: "utf8" }).split("\n");
}

/** Returns the rows of the page's table of formats. */
function formats(): { format: string; globs: string[]; since: string; test: string }[] {
  const section = /^## Formats\n[^]*?(?=^## )/m.exec(readFileSync(`${FIXTURES}/README.md`, "utf8"))![0];
  return [...section.matchAll(/^\| (.+?) +\| (`.+`) +\| (\d\S+) \| `(.+)` +\|$/gm)].map(([, ...cells]) => {
    const [format, globs, since, test] = cells as [string, string, string, string];
    return { format, globs: [...globs.matchAll(/`([^`]+)`/g)].map(([, glob]) => glob!), since, test };
  });
}

t.test("each format has a vector in the archive of each release that wrote it", { skip: needs("tar") }, (t) => {
  const rows = formats();
  t.ok(rows.length > 25);
  for (const [at, release] of PAST_RELEASES.entries()) {
    const paths = pathsIn(release);
    for (const { format, globs, since } of rows.filter((row) => PAST_RELEASES.indexOf(row.since as never) <= at))
      for (const glob of globs)
        t.ok(
          paths.some((path) => matchesGlob(path, glob)),
          `${release}, since ${since}: ${format} at ${glob}`,
        );
  }
  t.end();
});

t.test("each archive is read by tests of the past, and each of them holds a format", (t) => {
  t.strictSame(
    globSync(`${FIXTURES}/*.tar.zst`).toSorted(),
    PAST_RELEASES.map((release) => `${FIXTURES}/sealift-${release}.tar.zst`),
  );
  const tests = globSync("test/end-to-end/past-*.test.ts").map((path) => path.replace("test/end-to-end/", ""));
  t.strictSame([...new Set(formats().map(({ test }) => test))].toSorted(), tests.toSorted());
  t.end();
});
