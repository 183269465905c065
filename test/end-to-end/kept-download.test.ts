/** Programs that are killed in the middle of a slow download: the next ones ask the hub only for what is missing. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { layoutOf } from "../../lib/releases/layout.ts";
import { readPartial } from "../../lib/releases/partial.ts";
import { installedFiles, leftovers, World } from "../support/host/world.ts";
import { startSlowLine } from "../support/hub/slow-line.ts";
import { commandLine } from "../support/programs/command-line.ts";
import { until } from "../support/until.ts";

const BYTES = 3_000_000;
/** Bytes a second: the whole takes 20 seconds. */
const SLOW = 150_000;

type Event = { event: string } & Record<string, unknown>;

/** A published project, a slow line to its hub, and a host. */
async function slowHost(t: Test) {
  const world = await World.make();
  t.teardown(() => world[Symbol.asyncDispose]());
  writeFileSync(world.path("source", "plugins/tide-table/large.bin"), randomBytes(BYTES));
  await world.publish("1.0.0");
  const line = await startSlowLine(t, () => world.hubUrl);
  const root = world.path("host");
  const layout = layoutOf(root);
  const target = `project-${world.projectId}` as const;
  const env = { ...world.hostSecrets(), SEALIFT_HUB_URL: line.url, PATH: process.env.PATH! };
  /** Starts a built program, which writes events. */
  const start = (program: string, args: readonly string[]): { child: ChildProcess; events: Event[] } => {
    const file = fileURLToPath(new URL(`../../dist/bin/${program}.js`, import.meta.url));
    const child = spawn(process.execPath, [file, ...args, "--json"], { env, stdio: ["ignore", "pipe", "inherit"] });
    t.teardown(() => child.kill("SIGKILL"));
    const events: Event[] = [];
    createInterface({ input: child.stdout }).on("line", (text) => events.push(JSON.parse(text) as Event));
    return { child, events };
  };
  const keptBytes = async (): Promise<number> => (await readPartial(layout, target))?.bytes ?? 0;
  /** Ends a program with a signal once some bytes are kept. @returns how many are then */
  const stop = async ({ child }: { child: ChildProcess }, signal: NodeJS.Signals, least: number): Promise<number> => {
    await until(async () => (await keptBytes()) >= least);
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
    line.downloads.length = 0;
    return keptBytes();
  };
  const passed = (): number => line.downloads.reduce((sum, { bytes }) => sum + bytes, 0);
  return { world, line, root, layout, target, env, start, stop, passed, keptBytes };
}

t.jobs = 2;
t.test("a deployment that was killed, and one that was ended, goes on where it was", { buffered: true }, async (t) => {
  const { world, line, root, layout, target, env, start, stop, passed } = await slowHost(t);
  const args = world.deployArgs(root);
  line.bytesPerSecond = SLOW;
  const first = await stop(start("deploy-project", args), "SIGKILL", 150_000);
  const shown = await commandLine(["status", "--project-root", root], { env });
  t.match(shown.stdout, /partial +\d+ KiB of 2\.8\d MiB of 1\.0\.0 are kept for the next run/);
  const ended = start("deploy-project", args);
  const second = await stop(ended, "SIGTERM", first + 150_000);
  t.ok(second > first, `${first}, then ${second}`);
  t.equal(ended.child.exitCode, 130);
  t.match(
    ended.events.find(({ event }) => event === "partial.used"),
    { bytes: first },
  );
  t.match(
    ended.events.find(({ event }) => event === "partial.kept"),
    { version: "1.0.0", bytes: second },
  );

  line.bytesPerSecond = Infinity;
  const { size } = (await readPartial(layout, target))!;
  const last = start("deploy-project", args);
  t.same(await once(last.child, "exit"), [0, null]);
  t.match(
    last.events.find(({ event }) => event === "partial.used"),
    { bytes: second, size_bytes: size },
  );
  t.equal(passed(), size - second, "no byte came twice");
  t.match(last.events.at(-1), { event: "result", status: "success" });
  t.ok((await installedFiles(root))["plugins/tide-table/large.bin"]);
  t.same(await leftovers(root), []);
  t.notOk(existsSync(layout.partial(target)));
});

t.test("a watch that was killed goes on with what came", { buffered: true }, async (t) => {
  const { world, line, root, layout, target, start, stop, passed } = await slowHost(t);
  const args = [
    ...["watch", `project:${world.projectId}`, "--signer-public-key", world.path("keys", "signer.pub")],
    ...["--project-root", root, "--interval", "1h"],
  ];
  line.bytesPerSecond = SLOW;
  const kept = await stop(start("sealift", args), "SIGKILL", 200_000);
  t.equal(statSync(join(layout.sealift, "partial")).mode & 0o777, 0o700);
  line.bytesPerSecond = Infinity;
  const { size } = (await readPartial(layout, target))!;
  const again = start("sealift", args);
  await until(() => again.events.some(({ event }) => event === "deploy.done"));
  t.match(
    again.events.find(({ event }) => event === "deploy.done"),
    { outcome: "deployed", version: "1.0.0" },
  );
  t.match(
    again.events.find(({ event }) => event === "partial.used"),
    { bytes: kept },
  );
  t.equal(passed(), size - kept);
  t.notOk(existsSync(layout.partial(target)));
});
