// Only in test:all: a runtime without a disk, descriptors and the right time.
/** A runtime that lacks a disk, descriptors or the right time: calls go on. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { cannotStarve, DAY_MS, movedClock, readOnlyFolder, smallDisk, startStarved } from "../support/host/starved.ts";

const KEY = "a-plugin-key-for-tests-only";
// A file that is there already would give its own room back.
const PLUGIN = `import { writeFile } from "node:fs/promises";
export default { actions: {
  alive: () => "alive",
  write: async () => { await writeFile("data/" + Math.random(), Buffer.alloc(1024 * 1024)); return "written"; },
} };`;

t.test(
  "a runtime outlives a full disk, one that can only be read, few descriptors, and a clock that jumps by a day",
  { skip: cannotStarve },
  async (t) => {
    const disk = smallDisk(t, 8 * 1024 * 1024);
    const root = join(disk.folder, "root");
    for (const [id, mode] of [
      ["walled", "sandboxed"],
      ["inside", "trusted"],
    ] as const) {
      mkdirSync(join(root, "plugins", id), { recursive: true });
      const resources = "resources: {rate_limit: {calls: 10, period_seconds: 1}, timeout_seconds: 30}";
      const descriptor = `{name: ${id}, version: 1.0.0, entry_point: main.mjs, execution_mode: ${mode}, ${resources}}`;
      writeFileSync(join(root, "plugins", id, "plugin.yaml"), descriptor);
      writeFileSync(join(root, "plugins", id, "main.mjs"), PLUGIN);
    }
    const integration = `app: { secret_key: ${KEY}, server: { port: 0 } }\nplugins: { strict_trusted: false }\n`;
    writeFileSync(join(root, "integration.yaml"), integration);
    const clock = movedClock(t);
    const runtime = startStarved(t, "runtime-serve", [], { cwd: root, clock });
    const [, url] = await runtime.said(/^ready (\S+)/m);
    const headers = { "x-plugin-key": KEY };
    const ask = async (method: string, path: string) => {
      const answer = await fetch(`${url}/plugin/ipc/${path}`, { method, headers });
      return { status: answer.status, body: (await answer.json()) as { result?: string; code?: string } };
    };
    const call = (plugin: string, action: string) => ask("POST", `${plugin}/${action}`);
    const allAlive = async (when: string) => {
      for (const plugin of ["walled", "inside"])
        t.match(await call(plugin, "alive"), { status: 200, body: { result: "alive" } }, `${plugin} ${when}`);
    };
    await allAlive("at first");
    t.match(await call("walled", "write"), { status: 200 });

    disk.fill();
    t.match(await call("walled", "write"), { status: 500, body: { code: "action_failed" } });
    await allAlive("on a full disk");
    t.match(await ask("POST", "walled/reload"), { status: 200 });
    await allAlive("loaded on a full disk");
    disk.free();
    t.match(await call("walled", "write"), { status: 200 });

    {
      using _readOnly = readOnlyFolder(root);
      t.match(await call("inside", "write"), { status: 500, body: { code: "action_failed" } });
      await allAlive("on a disk that can only be read");
      t.match(await ask("POST", "walled/reload"), { status: 200 });
      await allAlive("loaded on a disk that can only be read");
    }
    {
      using _starving = runtime.withoutDescriptors();
      const status = await ask("POST", "walled/reload").then(
        (answer) => answer.status,
        () => "no answer",
      );
      t.not(status, 200, "what cannot be loaded is not told to be");
    }
    t.match(await ask("POST", "walled/reload"), { status: 200 });
    await allAlive("with descriptors again");

    for (const offset of [DAY_MS, -DAY_MS, 0]) {
      clock.set(offset);
      await allAlive(`with a clock that is off by ${offset} ms`);
      t.match(await ask("POST", "walled/reload"), { status: 200 });
    }
    t.equal(await runtime.stop(), 0);
  },
);
