// Holds: when a process has ended (lib/apps/processes.ts)
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import t from "tap";
import { factsOf, processesOf } from "../../../lib/apps/processes.ts";
import { needs, PYTHON3 } from "../../support/programs/optional.ts";
import { until } from "../../support/until.ts";

/** Ends its first thread; the other one goes on, and has what the process had open. */
const HALF_ENDED = `
import ctypes, threading, time
threading.Thread(target=lambda: time.sleep(60)).start()
ctypes.CDLL(None).pthread_exit(None)`;

t.test("a process whose first thread alone has ended goes on", { skip: needs("python3") }, async (t) => {
  const child = spawn(PYTHON3, ["-c", HALF_ENDED], { stdio: "ignore" });
  t.teardown(() => child.kill("SIGKILL"));
  const pid = child.pid!;
  await until(async () => /^State:\tZ/m.test(await readFile(`/proc/${pid}/status`, "latin1")));
  t.match(await factsOf(pid), { isZombie: false });
  t.ok((await processesOf(process.getuid!())).includes(pid));
  t.strictSame(await processesOf(2_999_999_999), [], "of a user who runs nothing");
  child.kill("SIGKILL");
  await once(child, "exit");
  t.equal(await factsOf(pid), undefined);
});

t.test("one that its parent takes no note of has ended", async (t) => {
  const parent = spawn("/bin/sh", ["-c", "sleep 2 & echo $!; exec sleep 60"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  t.teardown(() => parent.kill("SIGKILL"));
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  const pid = Number(String(line));
  await until(async () => (await factsOf(pid))?.isZombie === true);
  t.notOk((await processesOf(process.getuid!())).includes(pid));
});
