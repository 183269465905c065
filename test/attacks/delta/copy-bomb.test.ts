// Only in test:all: each of its archives is published, and refused by a host, 5 s of a processor.
import { existsSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { DEFAULT_LIMITS } from "../../../lib/artifact/limits.ts";
import { complete, forgedDelta, putLine, twoVersions } from "../../support/forged/delta-trees.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

t.test("ranges that overlap into gigabytes are refused before a byte of them is written", async (t) => {
  const folder = temporaryFolder(t);
  const content = Buffer.alloc(100_000, 1);
  const before = { "plugins/demo/a": content };
  const { to, base, header } = await twoVersions(folder, before, { ...before, "plugins/demo/b": "x" });
  const pieces = Array.from({ length: 20_000 }, () => [0, content.length]);
  const bomb = {
    put: "plugins/demo/b",
    executable: false,
    size: 2e9,
    sha256: "0".repeat(64),
    base: "plugins/demo/a",
    pieces,
  };
  const delta = await forgedDelta(folder, to, [header, bomb]);
  t.ok(delta.size < 10_000, `${delta.size} bytes describe two gigabytes`);
  const limits = { ...DEFAULT_LIMITS, maxTotalBytes: 1_000_000_000 };
  const started = performance.now();
  await t.rejects(complete(folder, delta, base, "1.1.0", limits), { code: "limit_exceeded", hint: /--max-total-size/ });
  t.ok(performance.now() - started < 10_000);
});

t.test("a line longer than any file needs is refused", async (t) => {
  const folder = temporaryFolder(t);
  const { to, base, header } = await twoVersions(folder, { "plugins/demo/a": "1" }, { "plugins/demo/a": "2" });
  const delta = await forgedDelta(folder, to, [header, `{"drop":"${"a".repeat(17 * 1024 * 1024)}"}`]);
  await t.rejects(complete(folder, delta, base, "1.1.0"), { code: "limit_exceeded" });
});

t.test("lines that ask for more work than their delta is worth are refused before any of it is done", async (t) => {
  const content = Buffer.alloc(1000, 1);
  const before = { "plugins/demo/a": content };
  const bomb = (pieces: number) => ({
    ...putLine("plugins/demo/b", "x", { base: "plugins/demo/a" }),
    size: pieces,
    pieces: Array.from({ length: pieces }, () => [0, 1]),
  });
  const empty = Array.from({ length: 100_000 }, (_, index) => putLine(`zz/${index}`.padEnd(12, "x"), ""));
  empty.sort((a, b) => (a.put < b.put ? -1 : 1));
  const cases: Record<string, [lines: object[], code: string]> = {
    "two million pieces in a line": [[bomb(2_000_000)], "limit_exceeded"],
    "more pieces than a file may have": [[bomb(140_000)], "delta_invalid"],
    "a hundred thousand files that no manifest knows": [empty, "digest_mismatch"],
  };
  for (const [what, [lines, code]] of Object.entries(cases)) {
    const folder = temporaryFolder(t);
    const { to, base, header } = await twoVersions(folder, before, { ...before, "plugins/demo/b": "x" });
    const delta = await forgedDelta(folder, to, [header, ...lines]);
    t.comment(`${what}: ${delta.size} bytes`);
    await t.rejects(complete(folder, delta, base, "1.1.0"), { code }, what);
    t.notOk(existsSync(join(folder, "completed")), "no file was made");
  }
});
