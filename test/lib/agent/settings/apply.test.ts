// Holds: settings that cannot work are told, and touch nothing (lib/agent/settings/apply.ts)
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import t from "tap";
import { deploySentence } from "../../../../lib/agent/base/sentences.ts";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { applySettings, unusedSince } from "../../../../lib/agent/settings/apply.ts";
import { targetName } from "../../../../lib/contract/target.ts";
import { withFleet } from "../../../../lib/releases/fleet-block.ts";
import { fleetSettingsName, NO_SETTINGS, writeFleetSettings } from "../../../../lib/releases/fleet-settings.ts";
import { quarantine, readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { ADOPTED, writeRelease } from "../../../../lib/releases/release.ts";
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

t.test("new settings let a version in again that did not work with those of before", async (t) => {
  const h = await applicationHost(t);
  const { layout, options } = h;
  const source = appSource("1.0.0", ["web"], "command: [sh, server.sh]\nenvironment: { optional: [LEVEL] }\n");
  const held = { identity: null, reason: "", at: new Date().toISOString() };
  const condemned = async (): Promise<void> => {
    await quarantine(layout, source.target, { ...held, version: "1.0.0", code: "unhealthy" });
    await quarantine(layout, source.target, { ...held, version: "0.9.0", code: "signature_invalid" });
  };
  const versions = async () => (await readQuarantine(layout, source.target)).map(({ version }) => version);
  const facts = { operator: "op", to: "to", digest: "d" };
  const apply = (number: number, LEVEL: string) =>
    applySettings(
      source,
      { ...facts, number, apps: { web: { LEVEL } } },
      { ...DEPLOY_DEFAULTS, ...options },
      () => undefined,
    );
  await condemned();
  t.match(await apply(1, "debug"), { state: "applied", release: null });
  t.strictSame(await versions(), ["0.9.0"], "where nothing runs; bytes that failed a check are condemned still");
  t.match(await h.run(source), { outcome: "deployed" });
  await condemned();
  t.match(await apply(2, "info"), { state: "applied", units: ["apps/web"] });
  t.strictSame(await versions(), ["0.9.0"]);
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

t.test("a fault of the host's own files is thrown, and blames no settings", async (t) => {
  const projectRoot = t.testdir();
  const layout = layoutOf(projectRoot);
  const files = { "apps/web/app.yaml": APP, "apps/web/server.js": "" };
  await install(await prepareRelease(layout, OF.target, "1.0.0", files));
  await mkdir(join(layout.sealift, "state", fleetSettingsName(OF.target)), { recursive: true });
  const settings = { operator: "op", to: "to", digest: "d", number: 1, apps: { web: HELD } };
  const options = { ...DEPLOY_DEFAULTS, projectRoot, hostId: "pier-7", supervisor: { name: "none" as const } };
  await t.rejects(
    applySettings(OF, settings, options, () => undefined),
    { code: "internal", message: /EISDIR/ },
  );
});

t.test("a release does not use what its applications do not read, nor what came while they were stopped", async (t) => {
  const layout = layoutOf(t.testdir());
  const settings = {
    operator: "op",
    to: "to",
    digest: "d",
    number: 1,
    apps: { web: { ...HELD, LEVLE: "x" }, api: {} },
  };
  const unused = (...untried: string[]) => unusedSince(layout, OF.target, settings, untried);
  t.equal(await unused("web"), undefined, "nothing is installed");
  const files = { "apps/web/app.yaml": APP, "apps/web/server.js": "", "apps/api/app.yaml": APP };
  await install(await prepareRelease(layout, OF.target, "1.0.0", { ...files, "apps/api/server.js": "" }));
  const undeclared = { name: "web.LEVLE", code: "settings_undeclared" };
  t.strictSame(await unused("web"), [undeclared]);
  for (const id of ["web", "api"]) {
    await mkdir(dirname(stoppedPath(layout.sealift, id)), { recursive: true });
    await writeFile(stoppedPath(layout.sealift, id), "");
  }
  t.strictSame(await unused("web"), [{ name: "web", code: "app_stopped" }, undeclared]);
  t.strictSame(await unused(), [undeclared], "it has tried them before it was stopped");
});

t.test("folders that were installed by hand use no settings, and are not said to wait for any", async (t) => {
  const layout = layoutOf(t.testdir());
  const prepared = await prepareRelease(layout, OF.target, ADOPTED, { "apps/web/app.yaml": APP });
  const { name } = prepared;
  const items = [...prepared.items];
  const created_at = new Date().toISOString();
  await writeRelease(layout, OF.target, name, {
    version: ADOPTED,
    identity: null,
    items,
    content_sha256: null,
    created_at,
  });
  await install(prepared);
  await mkdir(dirname(stoppedPath(layout.sealift, "web")), { recursive: true });
  await writeFile(stoppedPath(layout.sealift, "web"), "");
  const settings = { operator: "op", to: "to", digest: "d", number: 1, apps: { web: HELD } };
  t.strictSame(
    await unusedSince(layout, OF.target, settings, ["web"]),
    ["LEVEL", "SECRET"].map((setting) => ({ name: `web.${setting}`, code: "settings_foreign" })),
  );
});

t.test("a watch says in words what became of settings, with the names that lack values", (t) => {
  const done = { event: "settings.done", number: 6, units: [], ignored: [] } as const;
  const failed = { ...done, state: "failed", code: "env_missing", message: "web needs values for SECRET." } as const;
  t.equal(deploySentence(failed), "warning: Settings number 6 failed (env_missing): web needs values for SECRET.");
  t.equal(
    deploySentence({ ...done, state: "applied", code: null, message: null, ignored: ["web.OLD"] }),
    "Settings number 6 applied, without web.OLD",
  );
  t.match(deploySentence({ ...failed, state: "not_back" }), /what ran before does not work/);
  t.end();
});
