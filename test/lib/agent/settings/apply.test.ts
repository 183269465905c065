// Holds: settings that cannot work are told, and touch nothing (lib/agent/settings/apply.ts)
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import t from "tap";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { applySettings } from "../../../../lib/agent/settings/apply.ts";
import { targetName } from "../../../../lib/contract/target.ts";
import { withFleet } from "../../../../lib/releases/fleet-block.ts";
import { NO_SETTINGS, writeFleetSettings } from "../../../../lib/releases/fleet-settings.ts";
import { stoppedPath } from "../../../../lib/releases/stopped.ts";
import { applicationHost, appSource } from "../../../support/host/application-host.ts";
import { install, layoutOf, prepareRelease } from "../../../support/host/project-root.ts";

const PROJECT = `prj_${"0".repeat(32)}`;
const OF = { kind: "project", slug: PROJECT, target: targetName({ kind: "project", slug: PROJECT }) } as const;
const APP = `command: [node, server.js]\nlisten: [http]\nhealth: { http: / }
environment: { required: [SECRET], optional: [LEVEL] }\n`;
const HELD = { LEVEL: "info", SECRET: "a b" };

for (const { name, values, own = "", code, says } of [
  {
    name: "without a required value",
    values: { LEVEL: "info" },
    code: "env_missing",
    says: /web needs values for SECRET/,
  },
  { name: "with an empty one", values: { ...HELD, SECRET: "" }, code: "env_missing", says: /SECRET/ },
  {
    name: "behind an own line that would take them in",
    ...{ values: { ...HELD, LEVEL: "in fo" }, own: "NOTE='tis\n" },
    ...{ code: "config_invalid", says: /web\.env has a line/ },
  },
])
  t.test(`settings ${name} fail, and nothing is stopped or written`, async (t) => {
    const projectRoot = t.testdir();
    const layout = layoutOf(projectRoot);
    await install(
      await prepareRelease(layout, OF.target, "1.0.0", { "apps/web/app.yaml": APP, "apps/web/server.js": "" }),
    );
    const facts = { operator: "op", to: "to", digest: "d" };
    await writeFleetSettings(layout, OF.target, {
      ...NO_SETTINGS,
      held: { ...facts, number: 1, apps: { web: HELD } },
    });
    const text = own === "" ? withFleet("", HELD) : own;
    const file = join(projectRoot, "apps/web.env");
    await writeFile(file, text);
    const events: string[] = [];
    const result = await applySettings(
      OF,
      { ...facts, number: 2, apps: { web: values } },
      { ...DEPLOY_DEFAULTS, projectRoot, hostId: "pier-7", supervisor: { name: "none" } },
      ({ event }) => events.push(event),
    );
    t.match(result, { state: "failed", code, units: [], error: { message: says } });
    t.notMatch(result.error?.message, /a b/);
    t.equal(await readFile(file, "utf8"), text);
    t.strictSame(events, ["lock.acquired"]);
  });

t.test("settings of a stopped application are said to be untried", async (t) => {
  const h = await applicationHost(t);
  const { layout, options } = h;
  const source = appSource("1.0.0", ["web"], "command: [sh, server.sh]\nenvironment: { optional: [LEVEL] }\n");
  t.match(await h.run(source), { outcome: "deployed" });
  await mkdir(dirname(stoppedPath(layout.sealift, "web")), { recursive: true });
  await writeFile(stoppedPath(layout.sealift, "web"), "");
  const settings = { operator: "op", to: "to", digest: "d", number: 1, apps: { web: { LEVEL: "debug" } } };
  const result = await applySettings(source, settings, { ...DEPLOY_DEFAULTS, ...options }, () => undefined);
  t.match(result, { state: "applied", ignored: [{ name: "web", code: "app_stopped" }] });
  t.match(await readFile(join(layout.root, "apps/web.env"), "utf8"), /LEVEL=debug/, "they count when it is started");
});
