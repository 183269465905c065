// Only in test:all: a deployment is killed at each of its events.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import t from "tap";
import { installedFiles, leftovers, World } from "../support/host/world.ts";
import { commandLine } from "../support/programs/command-line.ts";

const PROGRAM = fileURLToPath(new URL("../support/programs/deploy-and-die.ts", import.meta.url));

/** Runs a deployment that dies at one event. @returns its events and how it ended */
async function deployAndDie(
  world: World,
  root: string,
  dieAt: number,
): Promise<{ events: string[]; signal: string | null }> {
  const options = {
    hubUrl: world.hubUrl,
    apiKey: world.hostKey.key,
    deploymentCredential: world.hostKey.deployment_credential,
    projectId: world.projectId,
    publicKey: (await readFile(world.path("keys", "signer.pub"), "utf8")).trim(),
    projectRoot: root,
  };
  const child = spawn(process.execPath, [PROGRAM, String(dieAt), JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env.PATH },
  });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const [, signal] = (await once(child, "close")) as [number | null, string | null];
  return { events: text.trim().split("\n"), signal };
}

t.test("a deployment killed at any event of its stream", async (t) => {
  await using world = await World.make();
  const template = world.path("template");
  await world.publish("1.0.0");
  await world.programs.run("deploy-project", world.deployArgs(template), world.hostSecrets());
  const before = await installedFiles(template);
  await world.publish("1.1.0");
  const reference = world.path("reference");
  await cp(template, reference, { recursive: true, verbatimSymlinks: true });
  const { events } = await deployAndDie(world, reference, -1);
  const after = await installedFiles(reference);
  t.not(JSON.stringify(before), JSON.stringify(after), "the two versions differ");
  const committed = events.indexOf("commit.done");
  t.ok(
    committed > 0 &&
      events.includes("switch.done") &&
      events.at(-1) === "report.sent" &&
      events.includes("delta.chosen"),
    "the stream is the expected one, with a delta",
  );

  // Who comes next need be no process of its own: only the first run is killed.
  const deploy = (host: string, ...more: readonly string[]) =>
    commandLine(["deploy-project", ...world.deployArgs(host), ...more], {
      env: { PATH: process.env.PATH, ...world.hostSecrets() },
    });
  const cases = events.map((event, index) => ({ event, index }));
  const runCase = async ({ event, index }: { event: string; index: number }): Promise<void> => {
    const host = world.path(`host-${index}`);
    await cp(template, host, { recursive: true, verbatimSymlinks: true });
    const killed = await deployAndDie(world, host, index);
    t.equal(killed.signal, "SIGKILL", `killed at ${event} (${index})`);
    // By turns: `npm run crash` looks at each state without another run.
    if (index % 2 === 0) {
      t.match(await deploy(host), { code: 0 });
      t.same(
        await installedFiles(host),
        after,
        `after ${event} (${index}) the next run ends in the new release, whole`,
      );
      t.same(await leftovers(host), [], "and leaves nothing half done");
      return;
    }
    t.not((await deploy(host, "--hub-url", "http://127.0.0.1:9")).code, 0, "without the hub the next run fails");
    const expected = index >= committed ? after : before;
    t.same(
      await installedFiles(host),
      expected,
      `after ${event} (${index}), with the hub gone, the old release is there, whole`,
    );
    t.same(await leftovers(host), [], "and nothing half done is left");
  };
  // Two at a time: the machine has two cores, and each case is four processes.
  const queue = [...cases];
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) await runCase(next);
  };
  await Promise.all([worker(), worker()]);
});
