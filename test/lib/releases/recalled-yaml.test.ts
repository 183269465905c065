// Holds: a file is read anew once its text has changed, and nobody else's word for it counts
// (lib/releases/recalled-yaml.ts)
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { recalledYaml } from "../../../lib/releases/recalled-yaml.ts";

function reading(t: Test) {
  const root = t.testdir({ ".sealift": { apps: {} }, "a.yaml": "one" });
  const folder = join(root, ".sealift/apps");
  chmodSync(folder, 0o700);
  const parsed: (string | undefined)[] = [];
  const read = (): Promise<{ is: string }> =>
    recalledYaml(layoutOf(root), join(root, "a.yaml"), "a", (text) => {
      parsed.push(text);
      return text === "bad" || text === undefined ? Promise.reject(new Error("bad")) : Promise.resolve({ is: text });
    });
  return { root, folder, kept: join(folder, "a.parsed"), parsed, read };
}

t.test("one text is parsed once, another one anew", async (t) => {
  const { root, parsed, read, kept } = reading(t);
  for (let n = 0; n < 3; n++) t.strictSame(await read(), { is: "one" });
  writeFileSync(join(root, "a.yaml"), "two");
  t.strictSame(await read(), { is: "two" });
  writeFileSync(join(root, "a.yaml"), "bad");
  await t.rejects(read(), { message: "bad" });
  rmSync(join(root, "a.yaml"));
  await t.rejects(read(), { message: "bad" });
  t.strictSame(parsed, ["one", "two", "bad", undefined]);
  writeFileSync(join(root, "a.yaml"), "two");
  const other = JSON.parse(readFileSync(kept, "utf8")) as { program: string };
  writeFileSync(kept, JSON.stringify({ ...other, program: "0.0.1", value: { is: "of another version" } }));
  t.strictSame(await read(), { is: "two" });
});

t.test("what others could have written does not count, and a folder that they may open keeps nothing", async (t) => {
  const { folder, read, kept } = reading(t);
  await read();
  const own = JSON.parse(readFileSync(kept, "utf8")) as object;
  const planted = JSON.stringify({ ...own, value: { is: "planted" } });
  writeFileSync(kept, planted);
  t.strictSame(await read(), { is: "planted" }, "our own word counts");
  chmodSync(kept, 0o644);
  t.strictSame(await read(), { is: "one" });
  rmSync(kept);
  writeFileSync(join(folder, "elsewhere"), planted, { mode: 0o600 });
  symlinkSync("elsewhere", kept);
  t.strictSame(await read(), { is: "one" });
  for (const text of ["", "{", "null", "[]"]) {
    rmSync(kept);
    writeFileSync(kept, text, { mode: 0o600 });
    t.strictSame(await read(), { is: "one" }, text);
  }
  writeFileSync(kept, planted);
  chmodSync(folder, 0o755);
  t.strictSame(await read(), { is: "one" });
  rmSync(folder, { recursive: true });
  t.strictSame(await read(), { is: "one" });
  t.notOk(existsSync(folder), "nobody makes it");
  mkdirSync(folder, { mode: 0o700 });
  await read();
  t.ok(existsSync(kept));
});
