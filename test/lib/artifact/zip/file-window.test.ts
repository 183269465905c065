import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { FileWindow } from "../../../../lib/artifact/zip/file-window.ts";

t.test("pieces are read as they lie in the file, whatever the window", (t) => {
  const content = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 251));
  const file = join(t.testdir({}), "file");
  writeFileSync(file, content);
  const descriptor = openSync(file, "r");
  t.teardown(() => closeSync(descriptor));
  for (const windowBytes of [1, 16, 100, 4096, undefined]) {
    const window = new FileWindow(descriptor, windowBytes);
    for (const [position, length] of [
      [0, 10],
      [5, 10],
      [90, 20],
      [89, 1],
      [0, 1],
      [300, 600],
      [990, 10],
      [995, 10],
      [1000, 1],
      [5000, 3],
      [20, 0],
      [10, 4],
    ] as const) {
      t.same(window.read(position, length), content.subarray(position, position + length), `${position}, ${length}`);
    }
  }
  t.end();
});

t.test("neighbouring pieces cost one call of the system for a window", (t) => {
  const file = join(t.testdir({}), "file");
  writeFileSync(file, "before");
  const descriptor = openSync(file, "r");
  t.teardown(() => closeSync(descriptor));
  const window = new FileWindow(descriptor);
  t.equal(window.read(0, 3).toString(), "bef");
  writeFileSync(file, "BEFORE");
  t.equal(window.read(3, 3).toString(), "ore", "from memory");
  t.end();
});
