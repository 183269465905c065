import { randomBytes } from "node:crypto";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { GrowingFile } from "../../../../lib/artifact/project/growing-file.ts";

t.test("a reader gets a growing file whole, also one that begins late", async (t) => {
  const path = join(t.testdir({}), "file");
  const file = new GrowingFile(path);
  const early = Array.fromAsync(file.read());
  writeFileSync(path, "");
  const all: Buffer[] = [];
  for (const bytes of [10, 400_000, 1]) {
    all.push(randomBytes(bytes));
    appendFileSync(path, all.at(-1)!);
    file.grow(all.at(-1)!);
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.equal(file.total, undefined, "it still grows");
  const late = Array.fromAsync(file.read());
  file.end();
  const expected = Buffer.concat(all);
  t.equal(file.total, expected.length);
  for (const read of [early, late]) t.ok(Buffer.concat(await read).equals(expected));
});

t.test("only a reader that waits takes the written buffer, and one that is behind reads the file", async (t) => {
  const path = join(t.testdir({ file: "onetwo" }), "file");
  const file = new GrowingFile(path);
  const [one, two] = [Buffer.from("one"), Buffer.from("two")];
  t.notOk(file.grow(one), "nobody waits");
  const reader = file.read();
  const first = await reader.next();
  t.same(first.value, one);
  const next = reader.next();
  // The reader comes to its wait in this turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  t.ok(file.grow(two));
  t.equal((await next).value, two, "the buffer itself");
  file.end();
  t.ok((await reader.next()).done);
});

t.test("what stops the writer stops its readers", async (t) => {
  const file = new GrowingFile(join(t.testdir({ file: "" }), "file"));
  const waiting = Array.fromAsync(file.read());
  file.fail(new Error("the source changed"));
  await t.rejects(waiting, { message: "the source changed" });
  await t.rejects(Array.fromAsync(file.read()), { message: "the source changed" });
});
