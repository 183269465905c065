// Holds: a withdrawn grant leaves nobody, though app serve was killed (lib/apps/serve.ts)
// Holds: processes that are an application's no more (lib/apps/leftovers.ts)
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { markOf } from "../../../lib/apps/environment.ts";
import { endLeftovers, markProcess } from "../../../lib/apps/leftovers.ts";
import { ApplicationRoot } from "../../support/host/application-root.ts";
import { noOwnUsers, ownUser, type ServedPlace, ServedRoot } from "../../support/host/served-root.ts";
import { until } from "../../support/until.ts";

/** Leaves its process group, and says who it is. */
const LEAVES = `const child = require("node:child_process").spawn("/bin/sleep", ["300"], { detached: true, stdio: "ignore" });
console.log("left " + child.pid + ".");
setInterval(() => {}, 1000);`;

const isAlive = async (pid: number): Promise<boolean> =>
  /^State:\t[^Z]/m.test(await readFile(`/proc/${pid}/status`, "latin1").catch(() => ""));

for (const place of ["host", "container"] as const satisfies ServedPlace[])
  t.test(`${place}`, { skip: place === "container" && noOwnUsers() }, async (t) => {
    const root = await ApplicationRoot.make(t);
    await root.install("web", { files: { "server.js": LEAVES } });
    await root.grant({ web: noOwnUsers() === false ? { user: ownUser(t) } : {} });
    const served = await ServedRoot.start(t, root, place);
    const log = () => readFile(join(root.layout.sealift, "logs/apps/web/log"), "utf8").catch(() => "");
    await until(async () => /left \d+\./.test(await log()));
    const pid = Number(/left (\d+)\./.exec(await log())![1]);
    await served.end("SIGKILL");
    t.ok(await isAlive(pid), "nobody is there to end it");
    await root.grant({});
    const again = await ServedRoot.start(t, root, place);
    t.ok(again.has("ready"));
    await until(async () => !(await isAlive(pid)), 5_000).catch(() => process.kill(pid, "SIGKILL"));
    t.notOk(await isAlive(pid));
    t.ok(again.events.every(({ event }) => event === "ready"));
  });

t.test("a number that was used again ends nobody", { skip: process.platform !== "linux" }, async (t) => {
  const root = await ApplicationRoot.make(t);
  const leader = spawn("/bin/sh", ["-c", "sleep 300 & echo $!; wait"], {
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  t.teardown(() => void leader.kill("SIGKILL"));
  const child = Number((await once(leader.stdout, "data")).join());
  const file = join(t.testdir({}), "web.json");
  await markProcess(file, leader.pid!, {});
  const mark = JSON.parse(await readFile(file, "utf8")) as { start: number };
  // Another process of this boot, or one of an earlier boot that began as long after it.
  for (const other of [{ start: mark.start - 1 }, { boot: "00000000-0000-0000-0000-000000000000" }]) {
    await writeFile(file, JSON.stringify({ ...mark, ...other }));
    await endLeftovers(file, await markOf(root.layout.root, "web"), undefined);
    t.ok(await isAlive(child), JSON.stringify(other));
  }
  await markProcess(file, leader.pid!, {});
  await endLeftovers(file, await markOf(root.layout.root, "web"), undefined);
  t.notOk(await isAlive(child), "but its own group ends");
});

t.test("what an app serve of before 0.3.0 left is ended", { skip: process.platform !== "linux" }, async (t) => {
  const root = await ApplicationRoot.make(t);
  const mark = await markOf(root.layout.root, "web");
  const file = join(t.testdir({}), "web.json");
  for (const value of [mark.former, mark.value]) {
    const child = spawn("/bin/sleep", ["300"], {
      detached: true,
      env: { SEALIFT_APPLICATION: value },
      stdio: "ignore",
    });
    const ended = once(child, "exit");
    await endLeftovers(file, { ...mark, key: "0", value: "0" }, undefined);
    t.ok(await isAlive(child.pid!), "not that of another root");
    await endLeftovers(file, mark, undefined);
    await ended;
  }
});
