// Holds: settings that cannot work are told, and touch nothing (lib/agent/settings/apply.ts)
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { applySettings } from "../../../../lib/agent/settings/apply.ts";
import { targetName } from "../../../../lib/contract/target.ts";
import { withFleet } from "../../../../lib/releases/fleet-block.ts";
import { NO_SETTINGS, writeFleetSettings } from "../../../../lib/releases/fleet-settings.ts";
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
