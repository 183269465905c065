// Holds: an application that is of another one ends before it and starts after it (lib/apps/kin.ts)
// Holds: it has that one's user, settings and data, by the operator's grant (lib/apps/setting.ts)
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { AppServe } from "../../../lib/apps/serve.ts";
import { freePort } from "../../support/free-port.ts";
import { ApplicationRoot } from "../../support/host/application-root.ts";
import { logOf, noOwnUsers, ownUser, ServedRoot } from "../../support/host/served-root.ts";
import { until } from "../../support/until.ts";

/** Answers 500 until `ok` stands in its folder. */
const WEB = `
const fs = require("node:fs");
const note = (what) => console.log(what + " " + process.hrtime.bigint());
note("BEGINS");
process.on("SIGTERM", () => { note("ENDS"); process.exit(0); });
require("node:http").createServer((q, r) => { r.statusCode = fs.existsSync("ok") ? 200 : 500; r.end(); })
  .listen(Number(process.env.PORT), process.env.HOST);
`;
const WORKER = `
const note = (what) => console.log(what + " " + process.hrtime.bigint());
note("BEGINS");
console.log("SAYS " + JSON.stringify({ cwd: process.cwd(), greeting: process.env.GREETING, port: process.env.PORT, uid: process.getuid() }));
process.on("SIGTERM", () => { note("ENDS"); process.exit(0); });
setInterval(() => {}, 1000);
`;

async function family(
  t: Test,
  { works = true, within = "2s", grants = {} }: { works?: boolean; within?: string; grants?: object } = {},
) {
  const root = await ApplicationRoot.make(t);
  const port = await freePort();
  const health = { http: "/healthz", within, stays_up: "1s" };
  const files = { "server.js": WEB, "worker.js": WORKER, ...(works && { ok: "" }) };
  await root.installTogether({
    web: { app: { ports: ["http"], health }, files },
    worker: { app: { of: "web" }, command: ["node", "worker.js"], files: {} },
  });
  await root.grantAsIs({ web: { ...root.user, listen: { http: port } }, worker: { of: "web" }, ...grants });
  writeFileSync(join(root.layout.root, "apps/web.env"), "GREETING=hello\n", { mode: 0o600 });
  const log = (id: string): string => (existsSync(logOf(root, id)) ? readFileSync(logOf(root, id), "utf8") : "");
  const times = (id: string, what: string): bigint[] =>
    [...log(id).matchAll(new RegExp(`^${what} (\\d+)$`, "gm"))].map(([, ns]) => BigInt(ns!));
  return { root, log, times, folder: join(root.layout.root, "apps/web") };
}

t.test("it runs in the other one's folder, as its user and with its settings, once that one works", async (t) => {
  const { root, log, times, folder } = await family(t, { works: false, within: "1s" });
  const served = await AppServe.start(root.layout, () => undefined);
  t.teardown(() => served[Symbol.asyncDispose]());
  t.match(
    served.statuses().find(({ id }) => id === "worker"),
    { state: "waiting", error: /waits for web, which does not work.*500/ },
  );
  t.notMatch(log("worker"), "BEGINS");
  writeFileSync(join(folder, "ok"), "");
  await until(() => log("worker").includes("SAYS"));
  const said = JSON.parse(/SAYS (.*)\n/.exec(log("worker"))![1]!) as Record<string, unknown>;
  t.match(said, { greeting: "hello", cwd: /apps\/web$/ });
  t.equal(said.port, undefined, "addresses are each one's own");
  const [web, worker] = served.statuses();
  t.equal(worker!.user, web!.user);

  await served.act("web", "restart");
  await until(() => times("worker", "BEGINS").length === 2);
  t.ok(times("worker", "ENDS")[0]! < times("web", "ENDS")[0]!, "it ends before the other one");
  t.ok(times("web", "BEGINS")[1]! < times("worker", "BEGINS")[1]!, "and starts after it");
  await served.act("worker", "restart");
  await until(() => times("worker", "BEGINS").length === 3);
  t.equal(times("web", "BEGINS").length, 2, "its own restart is no other's");
  await served.act("web", "stop");
  t.match(served.statuses(), [{ state: "stopped" }, { state: "waiting" }]);
  await served.act("web", "start");
  await until(() => times("worker", "BEGINS").length === 4);
});

t.test("one that was stopped by itself stays so, and none waits for one that will not start", async (t) => {
  const { root, times } = await family(t, { within: "60s" });
  const served = await AppServe.start(root.layout, () => undefined);
  t.teardown(() => served[Symbol.asyncDispose]());
  await until(() => times("worker", "BEGINS").length === 1);
  await served.act("worker", "stop");
  await served.act("web", "restart");
  t.match(served.statuses(), [{ state: "running" }, { state: "stopped" }]);
  await served.act("web", "stop");
  const began = performance.now();
  await t.rejects(served.act("worker", "start"), { code: "start_failed", message: /web, which .*: it is stopped/ });
  await root.installTogether({
    web: { app: { ports: ["http"] }, migrate: ["false"], files: {} },
    worker: { app: { of: "web" }, files: {} },
  });
  await t.rejects(served.act("web", "start"), { code: "migration_failed" });
  await t.rejects(served.act("worker", "start"), { message: /web, which .*: it is failed/ });
  t.ok(performance.now() - began < 30_000, "at once");
});

t.test("one that dies takes those that are of it along when it starts again", async (t) => {
  const { root, times } = await family(t);
  const served = await AppServe.start(root.layout, () => undefined);
  t.teardown(() => served[Symbol.asyncDispose]());
  const before = served.statuses().find(({ id }) => id === "worker")!.pid;
  process.kill(served.statuses().find(({ id }) => id === "web")!.pid!, "SIGKILL");
  await until(() => times("web", "BEGINS").length === 2);
  await until(() => times("worker", "BEGINS").length === 2);
  t.not(served.statuses().find(({ id }) => id === "worker")!.pid, before);
});

t.test("a grant that says otherwise starts nothing", async (t) => {
  for (const [grants, error] of [
    [{ worker: { of: "other" } }, /does not grant worker/],
    [{ worker: { ...new ApplicationRoot("/").user } }, /worker is of web, and applications\.yaml says otherwise/],
  ] as const) {
    const { root } = await family(t, { grants });
    const served = await AppServe.start(root.layout, () => undefined);
    t.match(
      served.statuses().find(({ id }) => id === "worker"),
      { state: "stopped", error },
    );
    await served[Symbol.asyncDispose]();
  }
});

t.test("where the user tells the members, they end and start as one", { skip: noOwnUsers() }, async (t) => {
  const { root, log, times } = await family(t, { grants: {} });
  const user = ownUser(t);
  const port = await freePort();
  await root.grantAsIs({ web: { user, listen: { http: port } }, worker: { of: "web" } });
  const served = await ServedRoot.start(t, root, "container");
  t.match(
    served.events.find(({ event }) => event === "application.started"),
    { id: "web", membership: "user" },
  );
  await until(() => log("worker").includes("SAYS"));
  t.match(
    served.events.find(({ event, id }) => event === "application.started" && id === "worker"),
    {
      ...{ membership: "user", user },
      reason: /ends with web/,
    },
  );
  process.kill(served.events.find(({ id }) => id === "worker")!.pid as number, "SIGKILL");
  await until(() => times("worker", "BEGINS").length === 2);
  t.equal(times("web", "BEGINS").length, 1, "the end of one that is of it ends nobody else");
});
