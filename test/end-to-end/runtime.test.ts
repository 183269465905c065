import { chmod, cp, readFile, writeFile } from "node:fs/promises";
import t from "tap";
import { World } from "../support/host/world.ts";

const PLUGIN_KEY = "a-plugin-key-that-is-long-enough";
const SIGNATURE_KEY = "a signature key that is long enough";

/** The example project with a plan that a runtime carries out, deployed to a host with a running runtime. */
async function runtimeWorld(): Promise<{
  world: World;
  root: string;
  args: string[];
  url: string;
  secrets: Record<string, string>;
}> {
  const world = await World.make();
  await chmod(world.folder, 0o755);
  const root = world.path("host");
  const args = [...world.deployArgs(root), "--supervisor", "runtime"];
  const secrets = { ...world.hostSecrets(), SEALIFT_PLUGIN_SECRET_KEY: SIGNATURE_KEY, SEALIFT_PLUGIN_KEY: PLUGIN_KEY };
  const descriptor = world.path("source/plugins/tide-table/plugin.yaml");
  await writeFile(
    descriptor,
    `${await readFile(descriptor, "utf8")}  rate_limit: { calls: 100000, period_seconds: 1 }\n`,
  );
  await world.publish("1.0.0");
  await world.programs.run("deploy-project", world.deployArgs(root), secrets);
  await cp(world.path("source/integration.yaml"), world.path("host/integration.yaml"));
  const url = await world.programs.serve(
    "runtime-serve",
    ["--config", world.path("host/integration.yaml"), "--listen", "127.0.0.1:0"],
    {
      HARBOUR_PLUGIN_KEY: PLUGIN_KEY,
      HARBOUR_SIGNATURE_KEY: SIGNATURE_KEY,
    },
  );
  const plan = world.path("source/deployment/install.yaml");
  const supervised = ["tide-table", "berth-board"].flatMap((id) => [
    `  - {id: restart-${id}, action: restart, plugin: ${id}}`,
    `  - {id: check-${id}, action: healthcheck, plugin: ${id}, timeout: 10, retries: 1}`,
  ]);
  await writeFile(plan, `${await readFile(plan, "utf8")}${supervised.join("\n")}\n`);
  return { world, root, args: [...args, "--runtime-url", url], url, secrets };
}

const call = async (
  url: string,
  plugin: string,
  action: string,
): Promise<{ status: number; body: { result?: unknown } }> => {
  const answer = await fetch(`${url}/plugin/ipc/${plugin}/${action}`, {
    method: "POST",
    headers: { "x-plugin-key": PLUGIN_KEY, "content-type": "application/json" },
    body: JSON.stringify({ payload: {} }),
  });
  return { status: answer.status, body: (await answer.json()) as { result?: unknown } };
};

t.test("the agent upgrades plugins of a running runtime, and takes them back", async (t) => {
  const { world, args, url, secrets } = await runtimeWorld();
  await using _world = world;
  t.match(await call(url, "tide-table", "height"), { status: 200, body: { result: { metres: Number } } });

  await t.test("under a constant load of calls without one that fails", async (t) => {
    const tides = world.path("source/plugins/tide-table/src/main.js");
    await writeFile(
      tides,
      (await readFile(tides, "utf8")).replace("metres: heightAt", 'release: "1.1.0", metres: heightAt'),
    );
    await world.publish("1.1.0");
    let running = true;
    const answers: { status: number; body: unknown }[] = [];
    const load = async (plugin: string, action: string): Promise<void> => {
      while (running) answers.push(await call(url, plugin, action));
    };
    const callers = [load("tide-table", "height"), load("tide-table", "height"), load("berth-board", "board")];
    const result = await world.programs.run("deploy-project", args, secrets);
    t.match(result, { outcome: "deployed", version: "1.1.0" });
    t.match(await call(url, "tide-table", "height"), { body: { result: { release: "1.1.0" } } });
    running = false;
    await Promise.all(callers);
    t.ok(answers.length > 50, `${answers.length} calls`);
    t.same(
      answers.filter(({ status }) => status !== 200),
      [],
      "no call failed",
    );
  });

  await t.test("a release that does not load is rolled back, and the old one serves on", async (t) => {
    await writeFile(world.path("source/plugins/tide-table/src/main.js"), "throw new Error('not today');\n");
    await world.publish("1.2.0");
    await t.rejects(world.programs.run("deploy-project", args, secrets), { code: "rolled_back" });
    t.match(await call(url, "tide-table", "height"), { status: 200, body: { result: { release: "1.1.0" } } });
    t.match(await call(url, "berth-board", "board"), { status: 200 });
  });

  await t.test("a wrong plugin key is refused before anything changes for good", async (t) => {
    await t.rejects(
      world.programs.run("deploy-project", [...args, "--plugin-key", "wrong"], secrets),
      /X-Plugin-Key|previous release is back/,
    );
    t.match(await call(url, "tide-table", "height"), { status: 200, body: { result: { release: "1.1.0" } } });
  });
});
