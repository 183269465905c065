import { spawnSync } from "node:child_process";
import t from "tap";

/** Runs code in a Node of its own, since V8's flags are those of a process. */
const run = (code: string): string => {
  const young = new URL("../../../lib/support/young-heap.ts", import.meta.url).href;
  const program = `
    import { cachedDataVersionTag } from "node:v8";
    const { keepYoungHeapSmall, loadAsUsual, smallYoungHeap } = await import(${JSON.stringify(young)});
    const usual = cachedDataVersionTag();
    const isUsual = () => cachedDataVersionTag() === usual;
    ${code}`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
    encoding: "utf8",
  });
  return stdout + stderr;
};

t.test("compiled code is made and taken under V8's own flags before, after, and when modules are loaded", async (t) => {
  const told = run(`
    {
      using _outer = smallYoungHeap();
      console.log(isUsual());
      { using _inner = smallYoungHeap(); }
      console.log(isUsual());
      console.log(await loadAsUsual(async () => isUsual()), isUsual());
      await loadAsUsual(() => Promise.reject(new Error("gone"))).catch(({ message }) => console.log(message, isUsual()));
    }
    console.log(isUsual());
    const loading = loadAsUsual(() => new Promise((done) => setTimeout(() => done(isUsual()), 10)));
    using _late = smallYoungHeap();
    console.log(await loading, isUsual());`);
  t.equal(told, "false\nfalse\ntrue false\ngone false\ntrue\ntrue false\n");
});
