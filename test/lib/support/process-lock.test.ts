import { spawn } from "node:child_process";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { tryLock } from "../../../lib/support/process-lock.ts";

const MODULE = fileURLToPath(new URL("../../../lib/support/process-lock.ts", import.meta.url));

/** The answer of another process that tries the lock. */
async function triedElsewhere(path: string): Promise<string> {
  const code = `import { tryLock } from ${JSON.stringify(MODULE)};
    console.log(tryLock(${JSON.stringify(path)}) === undefined ? "refused" : "taken");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  const [text] = (await once(child.stdout, "data")) as [Buffer];
  return text.toString().trim();
}

t.test("a failed try in this process does not open the lock to other processes", async (t) => {
  const path = join(t.testdir(), "lock");
  const lock = tryLock(path);
  t.ok(lock);
  t.equal(tryLock(path), undefined);
  t.equal(await triedElsewhere(path), "refused");
  lock?.[Symbol.dispose]();
  t.equal(await triedElsewhere(path), "taken");
});

t.test("a lock's file is private: who can read it could hold it", async (t) => {
  const path = join(t.testdir(), "lock");
  using lock = tryLock(path);
  t.ok(lock);
  t.equal((await stat(path)).mode & 0o777, 0o600);
});
