import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { readLineBatches, readLines } from "../../../../lib/artifact/tree/read-lines.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const KIB = 1024;

t.test("lines of any length come out as they are, wherever the pieces of the file end", async (t) => {
  const file = join(temporaryFolder(t), "lines");
  for (const longest of [0, 1, 200, 300 * KIB]) {
    // Characters of one, two and three bytes; some lines are empty.
    const lines = Array.from({ length: 40 }, (_, at) => "aä€".repeat(Math.floor((longest * ((at * 7) % 11)) / 60)));
    lines.push("the end");
    for (const end of ["", "\n"]) {
      writeFileSync(file, lines.join("\n") + end);
      t.strictSame(await Array.fromAsync(readLines(file, 1024 * KIB)), lines);
    }
  }
  writeFileSync(file, "");
  t.strictSame(await Array.fromAsync(readLines(file, KIB)), []);
});

t.test("a line is refused when it has a byte too many, wherever it stands", async (t) => {
  const file = join(temporaryFolder(t), "lines");
  for (const before of [0, 8, 120 * KIB, 128 * KIB, 300 * KIB])
    for (const max of [9, 100, 200 * KIB]) {
      const front = "1234567\n".repeat(before / 8);
      const line = `${"€".repeat(Math.floor(max / 3))}${"x".repeat(max % 3)}`;
      for (const end of ["", "\n", "\nx\n"]) {
        writeFileSync(file, `${front}${line}${end}`);
        const batches = await Array.fromAsync(readLineBatches(file, max));
        t.equal(batches.flat().filter((found) => found === line).length, 1);
        writeFileSync(file, `${front}${line}x${end}`);
        await t.rejects(Array.fromAsync(readLineBatches(file, max)), { code: "limit_exceeded" });
      }
    }
});
