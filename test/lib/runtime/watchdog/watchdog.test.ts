// Only in test:all: plugins that stand still until they are ended.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import t from "tap";
import { type Blockage, Watchdog } from "../../../../lib/runtime/watchdog/watchdog.ts";
import { KEY, type LogRecord } from "../../../support/runtime/host.ts";
import { until } from "../../../support/until.ts";

const PROGRAM = fileURLToPath(new URL("../../../../bin/runtime-serve.ts", import.meta.url));
const PLUGINS = {
  guilty: `block: ({ ms }) => { const end = Date.now() + ms; while (Date.now() < end); return "done"; }`,
  innocent: `echo: (payload) => payload`,
};

t.test("trusted code that blocks the event loop is named at once in the log, then in health and metrics", async (t) => {
  const root = t.testdir({});
  for (const [name, action] of Object.entries(PLUGINS)) {
    const folder = join(root, "plugins", name);
    mkdirSync(folder, { recursive: true });
    const descriptor = `{name: ${name}, version: 1.0.0, entry_point: main.mjs, execution_mode: trusted}`;
    writeFileSync(join(folder, "plugin.yaml"), descriptor);
    writeFileSync(join(folder, "main.mjs"), `export default { actions: { ${action} } };`);
  }
  const integration = `app: { secret_key: ${KEY}, server: { port: 0 } }
plugins: { strict_trusted: false }
observability: { metrics: { blocked_after_ms: 200 } }
`;
  writeFileSync(join(root, "integration.yaml"), integration);
  const runtime = spawn(process.execPath, [PROGRAM], { cwd: root });
  t.teardown(() => runtime.kill("SIGKILL"));
  const logs: LogRecord[] = [];
  createInterface({ input: runtime.stderr }).on("line", (line) => logs.push(JSON.parse(line) as LogRecord));
  const [ready] = (await once(createInterface({ input: runtime.stdout }), "line")) as [string];
  const url = ready.replace(/^ready /, "");
  const headers = { "x-plugin-key": KEY, "content-type": "application/json" };
  const ask = async (path: string, payload?: unknown) => {
    const body = payload === undefined ? {} : { method: "POST", body: JSON.stringify({ payload }) };
    const answer = await fetch(`${url}/plugin/ipc/${path}`, { headers, ...body });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };

  let answered = false;
  const blocking = ask("guilty/block", { ms: 3000 }).finally(() => (answered = true));
  const named = (msg: RegExp): boolean => logs.some((each) => each.plugin === "guilty" && msg.test(each.msg));
  await until(() => named(/^the event loop has been blocked for \d+ ms$/));
  t.notOk(answered, "it is told while the loop is still blocked");
  t.match(await blocking, { status: 200, body: { result: "done" } });
  await until(() => named(/^the event loop was blocked$/));
  const { counters } = (await ask("metrics")).body as { counters: Record<string, number> };
  t.ok(counters["sealift_event_loop_blocked_total"]! >= 1);
  const { body } = await ask("health");
  t.match(body, { status: "degraded", checks: { event_loop: { status: "degraded", message: /guilty/ } } });
  t.match(await ask("innocent/echo", "still here"), { status: 200, body: { result: "still here" } });
});

t.test("without trusted code a blocked event loop is noticed when it goes on", async (t) => {
  const noticed: Blockage[] = [];
  await using watchdog = new Watchdog({
    thresholdMs: 200,
    announce: "none",
    onBlocked: (blockage) => noticed.push(blockage),
  });
  const end = performance.now() + 400;
  while (performance.now() < end);
  await until(() => noticed.length > 0);
  t.match(noticed, [{ plugin: undefined }]);
  t.ok(noticed[0]!.seconds >= 0.4);
  t.equal(watchdog.last, noticed[0]);
});
