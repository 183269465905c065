import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { acquireLock } from "../../../lib/releases/lock.ts";

const LOCK = fileURLToPath(new URL("../../../lib/releases/lock.ts", import.meta.url));

/** A process that takes the lock, says so and keeps it. */
async function holder(path: string) {
  const code = `import { acquireLock } from ${JSON.stringify(LOCK)};
    globalThis.lock = await acquireLock(${JSON.stringify(path)}, { waitMs: 0 });
    console.log("held"); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {},
  });
  await once(child.stdout, "data");
  return child;
}

t.test("a lock with a longer path than SQLite takes names itself, and is not a defect", async (t) => {
  const path = join(t.testdir(), ..."abc".split("").map((letter) => letter.repeat(200)), "lock");
  await t.rejects(acquireLock(path, { waitMs: 0 }), { code: "root_unusable", message: /c\/lock cannot be opened/ });
});

t.test("a lock excludes others, in this process and in another", async (t) => {
  const path = join(t.testdir(), "lock");
  {
    await using _held = await acquireLock(path, { waitMs: 0 });
    await t.rejects(acquireLock(path, { waitMs: 0 }), { code: "root_busy", exitCode: 75 });
  }
  const child = await holder(path);
  t.teardown(() => child.kill("SIGKILL"));
  let told = "";
  await t.rejects(acquireLock(path, { waitMs: 250, onWaiting: (who) => (told = who) }), { code: "root_busy" });
  t.match(told, `process ${child.pid}`);
});

t.test("the kernel lets go of the lock of a killed process", async (t) => {
  const path = join(t.testdir(), "lock");
  const child = await holder(path);
  const waiting = acquireLock(path, { waitMs: 10_000 });
  child.kill("SIGKILL");
  await (await waiting)[Symbol.asyncDispose]();
});

t.test("waiting can be aborted", async (t) => {
  const path = join(t.testdir(), "lock");
  await using _held = await acquireLock(path, { waitMs: 0 });
  await t.rejects(acquireLock(path, { waitMs: 10_000, signal: AbortSignal.timeout(100) }), { name: "AbortError" });
});
