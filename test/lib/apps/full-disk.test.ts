// Holds: marks and logs are best effort (lib/apps/leftovers.ts, lib/apps/log-file.ts)
// In a process of its own: it mounts a disk.
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { LogFile } from "../../../lib/apps/log-file.ts";
import { freePort } from "../../support/free-port.ts";
import { ApplicationRoot, HANDED_OVER } from "../../support/host/application-root.ts";
import { mountMemory } from "../../support/host/loop-file-system.ts";
import { ask, ServedRoot } from "../../support/host/served-root.ts";
import { until } from "../../support/until.ts";

/** A root on a small disk; undefined, with a remark, where this user mounts none. */
async function smallDisk(t: Test) {
  const mounted = mountMemory(t, 2 * 1024 * 1024);
  if ("reason" in mounted) return void t.comment(`no disk can be mounted here: ${mounted.reason}`);
  for (const folder of [mounted.folder, dirname(mounted.folder)]) chmodSync(folder, 0o755);
  const root = new ApplicationRoot(mounted.folder);
  const port = await freePort();
  await root.install("web", { app: { listen: ["http"] }, files: { "server.js": HANDED_OVER } });
  await root.grant({ web: { listen: { http: port } } });
  return { root, port, fill: () => fill(join(mounted.folder, "filler")) };
}

/** Writes until the disk is full. */
function fill(path: string): void {
  for (let bytes = 1 << 20; bytes > 0; bytes = bytes >> 1) {
    for (let more = true; more;) {
      try {
        writeFileSync(path, Buffer.alloc(bytes), { flag: "a" });
      } catch {
        more = false;
      }
    }
  }
}

t.test("app serve starts on a full disk, and runs its applications", async (t) => {
  const disk = await smallDisk(t);
  if (disk === undefined) return;
  const { root, port, fill } = disk;
  fill();
  const served = await ServedRoot.start(t, root);
  t.ok(served.has("application.started"), JSON.stringify(served.events));
  await until(async () => /^\d+$/.test(await ask(port)));
});

t.test("a disk that becomes full ends nothing, and keeps nothing from starting again", async (t) => {
  const disk = await smallDisk(t);
  if (disk === undefined) return;
  const { root, port, fill } = disk;
  const served = await ServedRoot.start(t, root);
  await until(async () => /^\d+$/.test(await ask(port)));
  const pid = await ask(port);
  fill();
  process.kill(Number(pid), "SIGKILL");
  await until(async () => /^\d+$/.test(await ask(port)) && (await ask(port)) !== pid);
  const next = await ask(port);
  for (let asked = 0; asked < 20; asked++) t.equal(await ask(port), next);
  t.equal(served.events.filter(({ event }) => event === "application.ended").length, 1);
  t.notOk(served.has("application.failed"));
  await served.end("SIGKILL");
  const again = await ServedRoot.start(t, root);
  await until(async () => /^\d+$/.test(await ask(port)));
  t.ok(again.has("application.started"));
});

t.test("a disk that took part of a line begins a new one when it takes more", async (t) => {
  const mounted = mountMemory(t, 256 * 1024);
  if ("reason" in mounted) return void t.comment(`no disk can be mounted here: ${mounted.reason}`);
  const filler = join(mounted.folder, "filler");
  writeFileSync(filler, Buffer.alloc(128 * 1024));
  const log = new LogFile(mounted.folder);
  await new Promise<void>((resolve) => log.write(`${"x".repeat(250_000)}\n`, () => resolve()));
  rmSync(filler);
  log.write("after\n");
  await new Promise<void>((resolve) => log.end(resolve));
  const lines = readFileSync(join(mounted.folder, "log"), "utf8").split("\n");
  t.ok(lines[0]!.length > 1000 && lines[0]!.length < 250_000, `${lines[0]!.length} bytes were taken`);
  t.equal(lines[1], "after");
});
