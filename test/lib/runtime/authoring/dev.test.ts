import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import t, { type Test } from "tap";
import { developPlugin, type DevEvent } from "../../../../lib/runtime/authoring/dev.ts";
import { freePort } from "../../../support/free-port.ts";
import { until } from "../../../support/until.ts";

const source = (text: string): string => `export default { actions: { say: () => ${JSON.stringify(text)} } };`;

function plugin(t: Test, mode: string): string {
  const folder = t.testdir({ plug: { "main.mjs": source("one"), "ca.pem": "" } });
  const descriptor = `name: plug\nversion: 1.0.0\nentry_point: main.mjs\nexecution_mode: ${mode}\n`;
  writeFileSync(join(folder, "plug/plugin.yaml"), descriptor);
  return join(folder, "plug");
}

for (const mode of ["trusted", "sandboxed"]) {
  t.test(`a ${mode} plugin is reloaded when a file of it is saved, and its calls are shown`, async (t) => {
    const folder = plugin(t, mode);
    const events: DevEvent[] = [];
    const seen = (name: string) => events.filter(({ event }) => event === name);
    await using session = await developPlugin({
      folder,
      listen: { host: "127.0.0.1", port: 0 },
      logger: pino({ level: "silent" }),
      onEvent: (event) => events.push(event),
    });
    t.match(seen("ready"), [{ actions: ["say"] }]);
    t.match(seen("not_packed"), [{ path: "ca.pem", pattern: "*.pem" }], "what an archive would lack");
    t.match(await session.call("say", {}), { status: 200, body: { result: "one" } });
    t.match(seen("call"), [{ call: { action: "say", fault: undefined } }]);

    writeFileSync(join(folder, "main.mjs"), source("two"));
    await until(() => seen("reloaded").length === 1);
    t.match(await session.call("say", {}), { body: { result: "two" } });

    writeFileSync(join(folder, "main.mjs"), "export default {");
    await until(() => seen("failed").length === 1);
    t.match(seen("failed"), [{ message: /main\.mjs:1/ }]);
    t.match(await session.call("say", {}), { body: { result: "two" } }, "the version before goes on");

    mkdirSync(join(folder, "data"), { recursive: true });
    writeFileSync(join(folder, "data/file"), "what a plugin writes is not a change of its code");
    writeFileSync(join(folder, "main.mjs"), source("three"));
    await until(() => seen("reloaded").length === 2);
    mkdirSync(join(folder, "src/data"), { recursive: true });
    writeFileSync(join(folder, "src/data/list"), "part of the code");
    await until(() => seen("reloaded").length === 3);
    t.equal(seen("failed").length, 1);
  });

  t.test(`a debugger can attach to a ${mode} plugin when it was asked for`, async (t) => {
    const port = await freePort();
    // A process of its own: the inspector of a trusted plugin is the runtime's.
    const program = `
      const { developPlugin } = await import(${JSON.stringify(new URL("../../../../lib/runtime/authoring/dev.ts", import.meta.url).href)});
      const { pino } = await import("pino");
      await developPlugin({ folder: process.argv[1], listen: { host: "127.0.0.1", port: 0 },
        inspect: { host: "127.0.0.1", port: ${port} }, logger: pino({ level: "silent" }), onEvent: () => {} });`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program, plugin(t, mode)], {
      stdio: "ignore",
      env: {},
    });
    t.teardown(() => child.kill("SIGKILL"));
    let targets: unknown;
    await until(async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/json/list`).catch(() => undefined);
      targets = await answer?.json();
      return answer?.ok;
    }, 20_000);
    t.match(targets, [{ type: "node", webSocketDebuggerUrl: /^ws:/ }]);
  });
}

t.test("what a sandboxed plugin prints is logged where plugin dev shows it", async (t) => {
  const folder = plugin(t, "sandboxed");
  writeFileSync(join(folder, "main.mjs"), 'console.log("high tide"); export default { actions: { say: () => 1 } };');
  const lines: string[] = [];
  await using _session = await developPlugin({
    folder,
    listen: { host: "127.0.0.1", port: 0 },
    logger: pino({ level: "info" }, { write: (line) => void lines.push(line) }),
    onEvent: () => {},
  });
  await until(() => lines.some((line) => line.includes("high tide")));
});
