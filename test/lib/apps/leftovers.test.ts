// Holds: which processes without a membership are an application's (lib/apps/leftovers.ts)
// In a process of its own: it starts programs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import t, { type Test } from "tap";
import { endLeftovers, markProcess } from "../../../lib/apps/leftovers.ts";
import { factsOf } from "../../../lib/apps/processes.ts";
import { needs, PYTHON3 } from "../../support/programs/optional.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { until } from "../../support/until.ts";

const NONE = { value: "none/web", former: "none/web", key: "none", path: "/" };

/** Whether a process lives. One that has ended may wait for its parent for as long as it likes. */
const lives = async (pid: number): Promise<boolean> => (await factsOf(pid))?.isZombie === false;

/** Makes its first child the leader of a process group of its own, and prints its id. */
const REGROUPED = `
import os, time
child = os.fork()
if child == 0:
    time.sleep(60)
os.setpgid(child, child)
print(child, flush=True)
time.sleep(60)`;

/** Starts a program in a session of its own, and returns the process that it starts. @param words it prints its id */
async function started(t: Test, program: string, ...words: string[]): Promise<{ leader: number; child: number }> {
  const first = spawn(program, words, { stdio: ["ignore", "pipe", "ignore"], detached: true });
  const [line] = (await once(first.stdout, "data")) as [Buffer];
  const child = Number(String(line));
  t.teardown(() => {
    for (const pid of [first.pid!, child])
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended.
      }
  });
  return { leader: first.pid!, child };
}

t.test("a process that has left the group of its program is ended with it", { skip: needs("python3") }, async (t) => {
  const file = join(temporaryFolder(t), "web.json");
  const { leader, child } = await started(t, PYTHON3, "-c", REGROUPED);
  await markProcess(file, leader, {});
  process.kill(leader, "SIGKILL");
  await until(async () => !(await lives(leader)));
  t.ok(await lives(child));
  await endLeftovers(file, NONE, undefined);
  t.notOk(await lives(child));
});

t.test("a session of another program with the number of the leader is left alone", async (t) => {
  const file = join(temporaryFolder(t), "web.json");
  const { leader, child } = await started(t, "/bin/sh", "-c", "sleep 60 & echo $!; wait");
  await markProcess(file, child, {});
  await endLeftovers(file, NONE, undefined);
  t.ok(await lives(child), "the marked process leads no session");
  t.ok(await lives(leader));
});
