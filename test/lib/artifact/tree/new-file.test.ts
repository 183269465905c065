import { readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { NewFile, writeNewFile } from "../../../../lib/artifact/tree/new-file.ts";

const both = {
  whole: (path: string, content: Buffer, executable: boolean): void => void writeNewFile(path, content, executable),
  pieces(path: string, content: Buffer, executable: boolean): void {
    using file = new NewFile(path, executable);
    for (const byte of content) file.write(Buffer.from([byte]));
  },
};

for (const [how, write] of Object.entries(both)) {
  t.test(`${how}: the bytes and the mode are as asked for`, async (t) => {
    const folder = t.testdir({});
    for (const executable of [true, false]) {
      const path = join(folder, String(executable));
      write(path, Buffer.from("bytes"), executable);
      t.equal(readFileSync(path, "utf8"), "bytes");
      t.equal(statSync(path).mode & 0o100, executable ? 0o100 : 0);
    }
  });

  t.test(`${how}: what stands there already is neither overwritten nor followed`, async (t) => {
    const folder = t.testdir({ kept: "kept" });
    symlinkSync(join(folder, "kept"), join(folder, "link"));
    symlinkSync(join(folder, "nowhere"), join(folder, "dangling"));
    for (const name of ["kept", "link", "dangling"])
      t.throws(() => write(join(folder, name), Buffer.from("other"), false), { code: "EEXIST" }, name);
    t.equal(readFileSync(join(folder, "kept"), "utf8"), "kept");
    t.throws(() => statSync(join(folder, "nowhere")), { code: "ENOENT" });
    writeFileSync(join(folder, "nowhere"), "");
  });
}
