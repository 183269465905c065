import { inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";

const BOMBS = {
  heap: `const hoard = []; for (;;) { for (let i = 0; i < 20000; i++) hoard.push({ a: [i, String(i)] }); await new Promise(setImmediate); }`,
  "heap without a pause": `const hoard = []; for (;;) hoard.push(new Array(1000).fill(Math.random()));`,
  Buffers: `const hoard = []; for (;;) { hoard.push(Buffer.alloc(4 * 1024 * 1024, 1)); await new Promise((done) => setTimeout(done, 1)); }`,
  "Buffers without a pause": `const hoard = []; for (;;) hoard.push(Buffer.alloc(4 * 1024 * 1024, 1));`,
  WebAssembly: `const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536 }); for (;;) { memory.grow(64); new Uint8Array(memory.buffer).fill(1); await new Promise(setImmediate); }`,
};

const AT_LOAD =
  "const hoard = []; for (;;) { hoard.push(Buffer.alloc(4 * 1024 * 1024, 1)); await new Promise(setImmediate); }";
const bomb = {
  descriptor: { name: "bomb", version: "1.0.0", entry_point: "main.mjs" },
  files: { "main.mjs": AT_LOAD },
};

inEachSetting("a memory bomb ends its own process, which comes back", async (t, setting) => {
  // A loaded machine takes its time to fill the memory.
  const descriptor = { resources: { timeout_seconds: 60 } };
  const host = await startAttacker(t, { setting, descriptor, plugins: { bomb } });
  t.match(await host.status("bomb"), { state: "error", error_code: "memory_exceeded" }, "one at load does not load");
  for (const [name, code] of Object.entries(BOMBS)) {
    t.match(await host.call("evil", "run", { code }), { status: 500, body: { code: "memory_exceeded" } }, name);
    t.equal(await host.result("victim", "alive"), "alive");
    t.equal(await host.result("evil", "alive"), "alive");
  }
});
