/** Reloads that begin or go on while a runtime closes: each would start a process after the last was stopped. */
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { builtFile } from "../../support/programs/command-line.ts";
import { actions, isAlive, KEY, sandboxed, startHost, trusted } from "../../support/runtime/host.ts";
import { until } from "../../support/until.ts";

const ALIVE = actions(`alive: () => "alive"`);
const NAMES = ["one", "two", "three", "four"];

/** Returns the ids of this process's children, and of theirs. */
async function descendants(of: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const name of await readdir("/proc")) {
    const stat = await readFile(`/proc/${name}/stat`, "latin1").catch(() => undefined);
    if (stat !== undefined && /^\d+$/.test(name))
      parents.set(Number(name), Number(stat.split(") ").at(-1)!.split(" ")[1]));
  }
  const isBelow = (pid: number | undefined): boolean => pid !== undefined && (pid === of || isBelow(parents.get(pid)));
  return [...parents.keys()].filter((pid) => pid !== of && isBelow(pid) && isAlive(pid));
}

t.test("a refresh under way ends with the runtime, and starts nothing after it", async (t) => {
  const plugins = Object.fromEntries(NAMES.map((name) => [name, sandboxed(name, ALIVE)]));
  const others = await descendants(process.pid);
  const started = async () => (await descendants(process.pid)).filter((pid) => !others.includes(pid));
  const host = await startHost(t, { plugins });
  t.ok((await started()).length >= NAMES.length);
  const refreshed = host.runtime.refresh();
  await host.runtime.close();
  await refreshed;
  await host.runtime.refresh();
  await t.rejects(host.runtime.lifecycle.load("one"), { code: "load_failed", message: /closing/ });
  await until(async () => (await started()).length === 0);
  t.ok(
    host.runtime.catalogue.all.every(({ instance }) => instance === undefined),
    "no plugin is loaded",
  );
});

t.test("SIGTERM right after SIGHUP ends the program", async (t) => {
  const plugins = { one: sandboxed("one", ALIVE), two: trusted("two", ALIVE) };
  const host = await startHost(t, { plugins, listen: false });
  host.write(
    "integration.yaml",
    `app: { secret_key: ${KEY}, server: { port: 0 } }\nplugins: { strict_trusted: false }\n`,
  );
  const program = execFile(process.execPath, [
    builtFile("runtime-serve"),
    "--config",
    join(host.root, "integration.yaml"),
  ]);
  t.teardown(() => program.kill("SIGKILL"));
  const ended = new Promise((resolve) => program.once("exit", (...how) => resolve(how)));
  await new Promise((resolve) => program.stdout!.once("data", resolve));
  program.kill("SIGHUP");
  program.kill("SIGTERM");
  t.same(await Promise.race([ended, until(() => false, 15_000)]), [0, null]);
});
