// Holds: an end that fails leaves no application for good (lib/apps/managed-application.ts)
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { AppServe } from "../../../lib/apps/serve.ts";
import { serveFolder } from "../../../lib/releases/applications.ts";
import { ApplicationRoot } from "../../support/host/application-root.ts";
import { until } from "../../support/until.ts";

for (const verb of ["restart", "recover", "stop"] as const)
  t.test(verb, async (t) => {
    const root = await ApplicationRoot.make(t);
    await root.install("web", { files: { "server.js": "setInterval(() => {}, 1000)" } });
    await root.grant({ web: {} });
    const served = await AppServe.start(root.layout, () => undefined);
    t.teardown(() => served[Symbol.asyncDispose]());
    await until(() => served.statuses()[0]?.state === "running");
    const file = join(serveFolder(root.layout), "web.json");
    // A mark that cannot be read: nobody knows who is left.
    await rm(file, { force: true });
    await mkdir(file);
    const asked = await served.act("web", verb).catch(() => "failed");
    t.equal(asked === "failed", verb !== "recover");
    t.match(served.statuses()[0]?.state, { restart: /failed/, recover: /waiting/, stop: /stopped/ }[verb]);
    t.ok(served.statuses()[0]?.error, "and it says why");
    await rm(file, { recursive: true });
    if (verb === "stop") await served.act("web", "start");
    await until(() => served.statuses()[0]?.state === "running", 20_000);
  });

t.test("nothing starts once everything ends", async (t) => {
  const root = await ApplicationRoot.make(t);
  await root.install("web", { files: { "server.js": "setInterval(() => {}, 1000)" } });
  await root.grant({ web: {} });
  const served = await AppServe.start(root.layout, () => undefined);
  await until(() => served.statuses()[0]?.state === "running");
  await root.install("late", { files: { "server.js": "setInterval(() => {}, 1000)" } });
  await root.grant({ web: {}, late: {} });
  const ending = served[Symbol.asyncDispose]();
  await t.rejects(served.act("late", "start"), { code: "ending" });
  for (const verb of ["start", "restart", "recover"] as const) await served.act("web", verb).catch(() => undefined);
  t.match(await served.act("web", "stop"), { state: "stopped" }, "but what ends may be asked to");
  await ending;
  await served.reload();
  t.match(served.statuses(), [{ state: "stopped", pid: null }]);
});
