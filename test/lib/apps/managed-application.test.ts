// Holds: what starts an application, and when nothing does any more (lib/apps/managed-application.ts)
// In a process of its own: it watches processes for seconds.
import t, { type Test } from "tap";
import type { AppServeEvent } from "../../../lib/apps/events.ts";
import { ManagedApplication } from "../../../lib/apps/managed-application.ts";
import { controlGroups } from "../../../lib/apps/serve.ts";
import { Journal } from "../../../lib/releases/journal.ts";
import { makeFolder } from "../../../lib/support/files.ts";
import { ApplicationRoot, type InstalledFiles } from "../../support/host/application-root.ts";
import { until } from "../../support/until.ts";

const STAYS = { "server.js": "setInterval(() => {}, 1000)" };

async function managed(t: Test, installed: InstalledFiles) {
  const root = await ApplicationRoot.make(t);
  await root.install("web", installed);
  await root.grant({ web: {} });
  await makeFolder(root.layout.sealift);
  const events: AppServeEvent[] = [];
  const emit = (event: AppServeEvent): void => void events.push(event);
  const application = new ManagedApplication(root.layout, "web", emit, await controlGroups(root.layout));
  t.teardown(() => application.close());
  return { root, application, events };
}

t.test("one that is closed is started by nobody", async (t) => {
  const { application } = await managed(t, { files: STAYS });
  await application.close();
  await t.rejects(application.start(), { code: "ending" });
  await t.rejects(application.restart(), { code: "ending" });
  await application.recover();
  await application.startAtFirst();
  t.match(application.status, { state: "stopped", pid: null });
});

t.test("a job is started by its times alone", async (t) => {
  const { application } = await managed(t, { app: { schedule: "30 3 * * *" }, files: STAYS });
  await t.rejects(application.start(), { code: "not_installed", message: /web is a job/ });
});

t.test("an event of a start names limits only where one does nothing", async (t) => {
  const { application, events } = await managed(t, { files: STAYS });
  await application.start();
  const started = events.find(({ event }) => event === "application.started");
  t.match(started, { id: "web", pid: application.status.pid });
  t.notOk("unenforced" in started! || "unlimited" in started!);
});

t.test("while somebody deploys, one that ends by itself is started again, and one that failed waits", async (t) => {
  const { root, application } = await managed(t, { files: { "server.js": "setTimeout(() => process.exit(1), 100)" } });
  const attempt = {
    ...{ v: 1 as const, deployment_id: "d", target: "project-p" as const, kind: "project" as const, slug: "prj_0" },
    ...{ host_id: "host", requested_version: "2.0.0", resolved_version: "2.0.0", release: "2.0.0-r2" },
    started_at: new Date().toISOString(),
  };
  const journal = await Journal.begin(root.layout, attempt, null, { keepsRelease: true });
  await journal.note({ phase: "switching" });
  await application.start();
  await until(() => application.status.restarts > 0);
  await root.install("web", { migrate: ["false"], files: STAYS });
  await t.rejects(application.restart(), { code: "migration_failed" });
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  t.match(application.status, { state: "failed", restarts: 0 });
  await journal.note({ phase: "committed" });
  await until(() => application.status.restarts > 0);
});
