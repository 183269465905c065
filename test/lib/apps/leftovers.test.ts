// Holds: which processes without a membership are an application's (lib/apps/leftovers.ts)
// In a process of its own: it starts programs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { endLeftovers, markProcess, readMark } from "../../../lib/apps/leftovers.ts";
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

t.test("one that has ended, and of which nobody takes note, is not waited for", async (t) => {
  const file = join(temporaryFolder(t), "web.json");
  const { child } = await started(t, "/bin/sh", "-c", "setsid sleep 60 & echo $!; exec sleep 60");
  await until(async () => (await factsOf(child))?.session === child);
  await markProcess(file, child, {});
  process.kill(child, "SIGKILL");
  await until(async () => (await factsOf(child))?.isZombie === true);
  await endLeftovers(file, NONE, undefined);
  t.match(await factsOf(child), { isZombie: true });
});

t.test("a session that began before the mark is left alone, though nobody leads it", async (t) => {
  const file = join(temporaryFolder(t), "web.json");
  const { leader, child } = await started(t, "/bin/sh", "-c", "sleep 60 & echo $!; wait");
  await markProcess(file, leader, {});
  process.kill(leader, "SIGKILL");
  await until(async () => !(await lives(leader)));
  const mark = (await readMark(file))!;
  await writeFile(file, JSON.stringify({ ...mark, start: mark.start + 1_000_000 }));
  await endLeftovers(file, NONE, undefined);
  t.ok(await lives(child));
});

t.test("whoever ends the leftovers of its own session goes on", async (t) => {
  const file = join(temporaryFolder(t), "web.json");
  const url = (path: string): string => JSON.stringify(new URL(`../../../${path}`, import.meta.url).href);
  const program = `
    const { endLeftovers, markProcess } = await import(${url("lib/apps/leftovers.ts")});
    await markProcess(${JSON.stringify(file)}, process.pid, {});
    await endLeftovers(${JSON.stringify(file)}, ${JSON.stringify(NONE)}, undefined);
    console.log("lives");`;
  const words = ["--input-type=module", "-e", program, "lib/apps/leftovers.ts"];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"], detached: true });
  t.match(String((await once(child.stdout, "data"))[0]), "lives");
});

t.test("a mark that is damaged, or of another boot, names nobody", async (t) => {
  const file = join(temporaryFolder(t), "web.json");
  await markProcess(file, process.pid, { uid: 54_321 });
  const mark = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
  t.strictSame(await readMark(file), mark);
  for (const other of [
    ...[{ pid: 0 }, { pid: -1 }, { pid: 1.5 }, { pid: "7" }, { start: -1 }, { start: null }],
    ...[{ uid: 0 }, { uid: -1 }, { uid: 1.5 }, { boot: 5 }, { boot: "another" }],
  ]) {
    await writeFile(file, JSON.stringify({ ...mark, ...other }));
    t.equal(await readMark(file), undefined, JSON.stringify(other));
  }
  await writeFile(file, "{");
  t.equal(await readMark(file), undefined, "no JSON");
});
