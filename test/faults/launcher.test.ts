// Only in test:all: an older Node.js starts a hub, and each end of it is tried.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import t from "tap";

const PROGRAM = fileURLToPath(new URL("../../dist/bin/hub-serve.js", import.meta.url));

/** A Node.js of this machine that is too old for the hub, which then runs with the pinned one. */
function oldNode(): string | undefined {
  const candidates = ["/usr/bin/node", "/usr/local/bin/node"];
  return candidates.find((path) => {
    try {
      return Number(execFileSync(path, ["-p", "process.versions.node.split('.')[0]"], { encoding: "utf8" })) < 24;
    } catch {
      return false;
    }
  });
}

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

t.test("a hub that an older Node.js has started ends with it, whatever ends that", async (t) => {
  const node = oldNode();
  if (node === undefined) return void t.plan(0, "no Node.js older than 24 is installed");
  const folder = t.testdir();
  const start = async () => {
    const args = [PROGRAM, "--data-dir", join(folder, "hub"), "--listen", "127.0.0.1:0"];
    const launcher = spawn(node, args, { stdio: ["ignore", "pipe", "ignore"] });
    t.teardown(() => launcher.kill("SIGKILL"));
    const [ready] = (await once(launcher.stdout, "data")) as [Buffer];
    t.match(String(ready), /^ready /);
    const children = readFileSync(`/proc/${launcher.pid}/task/${launcher.pid}/children`, "utf8");
    return { launcher, hub: Number(children.trim()) };
  };
  const first = await start();
  t.teardown(() => isRunning(first.hub) && process.kill(first.hub, "SIGKILL"));
  first.launcher.kill("SIGKILL");
  for (let waited = 0; isRunning(first.hub) && waited < 20_000; waited += 50) await delay(50);
  t.notOk(isRunning(first.hub), "the hub itself has ended");
  const second = await start();
  second.launcher.kill("SIGTERM");
  const [code] = (await once(second.launcher, "exit")) as [number];
  t.equal(code, 0, "the next one takes its place, and ends in order");
});
