// In a process of its own: it compares what the process uses with what Node tells.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import t from "tap";
import { MemorySampler, parseStat, type Sampled } from "../../../../lib/runtime/sandbox/memory-sampler.ts";
import { until } from "../../../support/until.ts";

const skip = process.platform === "linux" ? false : "only Linux tells what a process has used";

t.test("a sampler sees memory, who works and who does not, and outlives who ends", { skip }, async (t) => {
  const start = (...command: string[]): Sampled => {
    const child = spawn("/bin/sh", ["-c", ...command], { stdio: "ignore" });
    t.teardown(() => child.kill("SIGKILL"));
    return { pid: child.pid ?? 0, limitBytes: 2 ** 40, residentBytes: 0, onExceeded: () => undefined };
  };
  const [idle, busy, brief] = [start("exec sleep 60"), start("while :; do :; done"), start("exec sleep 0")];
  let exceeded = 0;
  const large: Sampled = { ...start("exec sleep 60"), limitBytes: 1, onExceeded: () => exceeded++ };
  const sampler = new MemorySampler();
  const unwatch = [idle, busy, brief, large].map((sampled) => sampler.watch(sampled));
  await until(() => (busy.activity ?? 0) >= 12, 60_000);
  t.ok((idle.activity ?? 0) <= 3, `a process that sleeps was seen to work ${idle.activity} times`);
  t.ok(idle.residentBytes > 100_000 && busy.residentBytes > 100_000);
  t.ok(exceeded > 1);
  for (const remove of unwatch) remove();
  const after = exceeded;
  const probe = spawn("/bin/sleep", ["0.3"]);
  await once(probe, "exit");
  t.equal(exceeded, after, "nobody is looked at any more");
});

t.test("the kernel's line is read, whatever the program calls itself", { skip }, (t) => {
  const line = (name: string, ...rest: number[]): string =>
    `7 (${name}) S 1 7 7 0 -1 4194304 9 0 0 0 ${rest.join(" ")} 0 0 20 0 11 0 5 664244000 10 184467 1\n`;
  for (const name of ["node", ") S 1 1 1", "a b) R 9", "\xff)"]) {
    const { residentBytes, ticks } = parseStat(line(name, 120, 34));
    t.equal(ticks, 154, name);
    t.ok(residentBytes >= 10 * 4096 && residentBytes % 4096 === 0);
  }
  t.throws(() => parseStat("7 (node) S 1 7"), /cut short/);
  const own = parseStat(readFileSync("/proc/self/stat", "latin1")).residentBytes / process.memoryUsage.rss();
  t.ok(own > 0.8 && own < 1.25, `${own} of what Node itself tells`);
  t.end();
});
